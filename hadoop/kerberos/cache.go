package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// cache is what a file of tickets says: whose they are, and the ticket that
// others are got with.
type cache struct {
	path  string
	owner name
	tgt   *ticket // nil: there is none for the owner's realm
}

// ticket is one with the key that it is used with.
type ticket struct {
	client, server name
	raw            messages.Ticket
	key            types.EncryptionKey
	begin, end     time.Time
	renew          time.Time // renewable until then; zero: not at all
}

// old says that most of its life is over, so that another is wanted soon.
func (t *ticket) old(now time.Time) bool {
	return now.After(t.end.Add(-t.end.Sub(t.begin) / 5))
}

// cacheHint is for caches that only libraries of their own can read.
const cacheHint = "make one that is a file: KRB5CCNAME=FILE:/tmp/krb5cc_$(id -u) kinit, and call with the same KRB5CCNAME"

// cachePath finds the file of a cache's name.
func cachePath(spec string) (string, error) {
	kind, rest, ok := strings.Cut(spec, ":")
	if !ok || strings.HasPrefix(spec, "/") {
		return spec, nil
	}
	bad := func(cause error, hint string) (string, error) {
		return "", &Problem{Thing: spec, Kind: ErrCache, Cause: cause, Hint: hint}
	}
	switch strings.ToUpper(kind) {
	case "FILE":
		return rest, nil
	case "DIR":
		if path, ok := strings.CutPrefix(rest, ":"); ok {
			return path, nil // one file of the collection
		}
		b, err := os.ReadFile(filepath.Join(rest, "primary"))
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(rest, "tkt"), nil
		}
		if err != nil {
			return bad(plainPath(err), "")
		}
		file := strings.TrimSpace(string(b))
		if file == "" || file != filepath.Base(file) {
			return bad(fmt.Errorf("its file primary names %q", file), "kswitch, or kinit again")
		}
		return filepath.Join(rest, file), nil
	}
	return bad(fmt.Errorf("a cache of type %s cannot be read here", strings.ToUpper(kind)), cacheHint)
}

// cacheSpec is the cache that is meant where none was named.
func cacheSpec(s Source, c *config) string {
	for _, spec := range []string{s.Cache, s.env("KRB5CCNAME"), c.cache} {
		if spec != "" {
			return spec
		}
	}
	return "FILE:/tmp/krb5cc_" + strconv.Itoa(os.Getuid())
}

// loadCache reads a cache and checks that there is a ticket.
func loadCache(spec string) (*cache, error) {
	path, err := cachePath(spec)
	if err != nil {
		return nil, err
	}
	b, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Problem{Thing: path, Kind: ErrNoTicket, Cause: plainPath(err), Hint: "kinit makes one; KRB5CCNAME names another cache; a keytab does without"}
	}
	if err != nil {
		return nil, &Problem{Thing: path, Kind: ErrCache, Cause: plainPath(err), Hint: "the file belongs to another user, or kinit makes a new one"}
	}
	c, err := parseCache(b)
	if err != nil {
		return nil, &Problem{Thing: path, Kind: ErrCache, Cause: err, Hint: "kinit makes a new one"}
	}
	c.path = path
	if c.tgt == nil {
		return nil, &Problem{Thing: path, Kind: ErrNoTicket, Cause: fmt.Errorf("no ticket-granting ticket for %s", c.owner), Hint: "kinit"}
	}
	return c, nil
}

// parseCache reads version 4 of the format, which libraries have written for
// twenty years, and 3.
func parseCache(b []byte) (*cache, error) {
	r := &reader{b: b}
	five, version := r.u8(), r.u8()
	if five != 5 || version != 3 && version != 4 {
		return nil, errors.New("not a ticket cache of version 3 or 4")
	}
	if version == 4 {
		r.short() // clock offset
	}
	c := &cache{owner: cachedName(r)}
	var damaged error
	for !r.bad && len(r.b) > 0 {
		t, raw := cachedTicket(r, version)
		if r.bad || !t.server.equal(tgs(c.owner.realm, c.owner.realm)) || !t.client.equal(c.owner) {
			continue
		}
		if err := t.raw.Unmarshal(raw); err != nil {
			damaged = errors.New("the ticket in it cannot be read")
			continue
		}
		if c.tgt == nil || t.end.After(c.tgt.end) {
			c.tgt = t
		}
	}
	if r.bad || len(c.owner.parts) == 0 {
		return nil, errors.New("it is cut short or damaged")
	}
	if c.tgt == nil && damaged != nil {
		return nil, damaged
	}
	return c, nil
}

func cachedName(r *reader) name {
	r.u32() // type
	parts := int(r.u32())
	n := name{realm: string(r.long())}
	for range parts {
		if r.bad {
			break
		}
		n.parts = append(n.parts, string(r.long()))
	}
	return n
}

func cachedTicket(r *reader, version uint8) (*ticket, []byte) {
	t := &ticket{client: cachedName(r), server: cachedName(r)}
	t.key.KeyType = int32(r.u16())
	if version == 3 {
		r.u16() // the type again
	}
	t.key.KeyValue = r.long()
	when := func() time.Time {
		if s := r.u32(); s != 0 {
			return time.Unix(int64(s), 0)
		}
		return time.Time{}
	}
	auth := when()
	t.begin, t.end, t.renew = when(), when(), when()
	if t.begin.IsZero() {
		t.begin = auth
	}
	r.u8()        // key of another ticket
	r.u32()       // flags
	for range 2 { // addresses, then authorization data
		for n := r.u32(); n > 0 && !r.bad; n-- {
			r.u16()
			r.long()
		}
	}
	raw := r.long()
	r.long() // second ticket
	return t, raw
}

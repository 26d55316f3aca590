package kerberos

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

// keytab is a file of keys.
type keytab struct {
	path    string
	entries []keyEntry
}

type keyEntry struct {
	owner   name
	version uint32
	made    time.Time
	key     types.EncryptionKey
}

// maxFile bounds keytabs and caches: real ones have kilobytes.
const maxFile = 16 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return b, err
}

// loadKeytab reads a keytab. What is wrong with its bytes is told without them:
// they are secrets.
func loadKeytab(path string) (*keytab, error) {
	path = strings.TrimPrefix(path, "FILE:")
	b, err := readFile(path)
	if err != nil {
		hint := "check the path and who may read it (ls -l); keytabs are of mode 0400"
		return nil, &Problem{Thing: path, Kind: ErrKeytab, Cause: plainPath(err), Hint: hint}
	}
	entries, err := parseKeytab(b)
	if err != nil {
		return nil, &Problem{Thing: path, Kind: ErrKeytab, Cause: err, Hint: "klist -kte " + path + " shows what it is"}
	}
	return &keytab{path: path, entries: entries}, nil
}

// plainPath drops the path that an error of os repeats.
func plainPath(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// parseKeytab reads version 2 of the format, the only one in use. A negative
// length is a hole that a removed key left.
func parseKeytab(b []byte) ([]keyEntry, error) {
	r := &reader{b: b}
	if r.u8() != 5 || r.u8() != 2 {
		return nil, errors.New("not a keytab of version 2")
	}
	var out []keyEntry
	for len(r.b) > 0 {
		size := int32(r.u32())
		if size < 0 {
			r.bytes(int(-int64(size)))
		} else if e, ok := parseEntry(r.bytes(int(size))); ok {
			out = append(out, e)
		} else if size > 0 {
			r.bad = true
		}
		if r.bad {
			return nil, errors.New("it is cut short or damaged")
		}
		if size == 0 {
			break // the rest of the file is room
		}
	}
	return out, nil
}

func parseEntry(b []byte) (keyEntry, bool) {
	r := &reader{b: b}
	parts := int(r.u16())
	e := keyEntry{owner: name{realm: string(r.short())}}
	for range parts {
		if r.bad {
			return e, false
		}
		e.owner.parts = append(e.owner.parts, string(r.short()))
	}
	r.u32() // type of the name
	e.made = time.Unix(int64(r.u32()), 0)
	e.version = uint32(r.u8())
	e.key.KeyType = int32(r.u16())
	e.key.KeyValue = r.short()
	if !r.bad && len(r.b) >= 4 {
		if v := r.u32(); v != 0 {
			e.version = v
		}
	}
	return e, !r.bad && parts > 0
}

// owners lists whose keys there are.
func (k *keytab) owners() []string {
	var out []string
	for _, e := range k.entries {
		if s := e.owner.String(); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// owner finds the principal that is meant; nothing means the only one.
func (k *keytab) owner(principal, realm string) (name, error) {
	owners := k.owners()
	holds := "it holds no key"
	if len(owners) > 0 {
		holds = "it holds " + strings.Join(owners[:min(len(owners), 10)], ", ")
	}
	p := &Problem{Thing: k.path, Kind: ErrKeytab}
	if principal == "" {
		if len(owners) == 1 {
			return k.entries[0].owner, nil
		}
		p.Cause, p.Hint = errors.New("it has keys of more than one principal, or none: "+holds), "say which principal is meant"
		return name{}, p
	}
	want, err := parseName(principal, realm)
	if err != nil {
		return name{}, &Problem{Thing: principal, Kind: ErrPrincipal, Cause: err, Hint: nameHint}
	}
	for _, e := range k.entries {
		if e.owner.equal(want) {
			return want, nil
		}
	}
	p.Cause, p.Hint = fmt.Errorf("no key of %s: %s", want, holds), "name one of those, or get the right keytab"
	return name{}, p
}

// kinds lists the encryption types of somebody's newest keys that are in among.
func (k *keytab) kinds(owner name, among []int32) []int32 {
	var out []int32
	for _, id := range among {
		if _, ok := k.key(owner, id, 0); ok {
			out = append(out, id)
		}
	}
	return out
}

// key finds the newest key of a kind, or the one of a version that is not 0.
func (k *keytab) key(owner name, id int32, version uint32) (keyEntry, bool) {
	var best keyEntry
	found := false
	for _, e := range k.entries {
		if e.key.KeyType != id || !e.owner.equal(owner) || version != 0 && e.version != version {
			continue
		}
		if !found || e.version > best.version {
			best, found = e, true
		}
	}
	return best, found
}

// all lists the encryption types of somebody's keys.
func (k *keytab) all(owner name) []int32 {
	var out []int32
	for _, e := range k.entries {
		if e.owner.equal(owner) && !slices.Contains(out, e.key.KeyType) {
			out = append(out, e.key.KeyType)
		}
	}
	return out
}

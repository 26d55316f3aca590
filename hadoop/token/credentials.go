package token

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

// Limits of what is read: far above what clusters hand out, far below what hurts.
const (
	MaxSize  = 64 << 20 // bytes of a whole credentials file
	MaxItems = 1 << 16  // tokens, and secrets
)

const (
	magic          = "HDTS"
	formatWritable = 0
	formatProtobuf = 1
)

// ErrFormat is the identity of everything that is wrong with the bytes of a
// credentials file.
var ErrFormat = errors.New("not a credentials file")

// Credentials is the content of the file that HADOOP_TOKEN_FILE_LOCATION names,
// and of the tokens field of a container launch context.
type Credentials struct {
	Tokens  []Token
	Secrets map[string][]byte
}

// Load reads a credentials file.
func Load(path string) (*Credentials, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: cannot be opened: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("credentials %s: cannot be read: %w", path, err)
	}
	c, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads either storage format: the Writable one (0), which daemons write,
// and the protobuf one (1).
func Parse(b []byte) (*Credentials, error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("credentials: more than %d bytes: %w", MaxSize, ErrFormat)
	}
	if len(b) < len(magic)+1 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("credentials: no %q at the start: %w", magic, ErrFormat)
	}
	var c *Credentials
	var err error
	switch format, body := b[len(magic)], b[len(magic)+1:]; format {
	case formatWritable:
		c, err = parseWritable(body)
	case formatProtobuf:
		c, err = parseProtobuf(body)
	default:
		err = fmt.Errorf("format %d is unknown", format)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w: %w", ErrFormat, err)
	}
	return c, nil
}

func parseWritable(body []byte) (*Credentials, error) {
	r := &reader{b: body}
	c := &Credentials{Secrets: map[string][]byte{}}
	for range r.count() {
		t := Token{Alias: r.text(), Identifier: r.blob(), Password: r.blob(), Kind: r.text(), Service: r.text()}
		if r.err != nil {
			return nil, r.err
		}
		c.Tokens = append(c.Tokens, t)
	}
	for range r.count() {
		name, value := r.text(), r.blob()
		if r.err != nil {
			return nil, r.err
		}
		c.Secrets[name] = value
	}
	return c, r.err
}

func parseProtobuf(body []byte) (*Credentials, error) {
	msg, n := protowire.ConsumeBytes(body)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	if err := countFields(msg); err != nil {
		return nil, err
	}
	var p ipcpb.Credentials
	if err := proto.Unmarshal(msg, &p); err != nil {
		return nil, err
	}
	c := &Credentials{Secrets: map[string][]byte{}}
	for _, kv := range p.GetTokens() {
		t := FromProto(kv.GetToken())
		if t == nil {
			return nil, fmt.Errorf("%q holds no token", kv.GetAlias())
		}
		t.Alias = kv.GetAlias()
		c.Tokens = append(c.Tokens, *t)
	}
	for _, kv := range p.GetSecrets() {
		c.Secrets[kv.GetAlias()] = kv.GetSecret()
	}
	return c, nil
}

// countFields refuses a message of too many fields before it is taken apart: an
// empty one costs two bytes there and a hundred in memory.
func countFields(msg []byte) error {
	for count := 0; len(msg) > 0; count++ {
		if count > 2*MaxItems {
			return errTooMany
		}
		_, _, n := protowire.ConsumeField(msg)
		if n < 0 {
			return protowire.ParseError(n)
		}
		msg = msg[n:]
	}
	return nil
}

// Bytes writes format 0, which every Hadoop version reads. A token without an
// alias is filed under its service, or else its kind. Equal credentials give
// equal bytes.
func (c *Credentials) Bytes() []byte {
	b := append([]byte(magic), formatWritable)
	b = AppendVint(b, int64(len(c.Tokens)))
	for _, t := range c.Tokens {
		b = appendText(b, t.alias())
		b = appendBlob(b, t.Identifier)
		b = appendBlob(b, t.Password)
		b = appendText(b, t.Kind)
		b = appendText(b, t.Service)
	}
	b = AppendVint(b, int64(len(c.Secrets)))
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		b = appendText(b, name)
		b = appendBlob(b, c.Secrets[name])
	}
	return b
}

// alias is the key in the file. Java keeps tokens in a map by it, so two tokens
// with one alias become one there.
func (t *Token) alias() string {
	switch {
	case t.Alias != "":
		return t.Alias
	case t.Service != "":
		return t.Service
	}
	return t.Kind
}

// ByKind returns the first token of a kind, whatever its service, or nil. The
// ResourceManager hands its AMRM token out with an empty service, so a kind is
// all that one can look for there.
func (c *Credentials) ByKind(kind string) *Token {
	i := slices.IndexFunc(c.Tokens, func(t Token) bool { return t.Kind == kind })
	return c.at(i)
}

// For returns the token of a kind for a service, or nil.
func (c *Credentials) For(kind, service string) *Token {
	i := slices.IndexFunc(c.Tokens, func(t Token) bool { return t.Kind == kind && t.Service == service })
	return c.at(i)
}

func (c *Credentials) at(i int) *Token {
	if i < 0 {
		return nil
	}
	t := c.Tokens[i]
	t.Identifier, t.Password = bytes.Clone(t.Identifier), bytes.Clone(t.Password)
	return &t
}

// Only leaves out all secrets, and all tokens of another kind: what is passed on
// to somebody who must not have the rest.
func (c *Credentials) Only(kind string) *Credentials {
	return &Credentials{Tokens: slices.DeleteFunc(slices.Clone(c.Tokens), func(t Token) bool { return t.Kind != kind })}
}

// Issued is when the youngest HDFS delegation token was issued, in milliseconds
// since 1970; 0 where there is none.
func (c *Credentials) Issued() int64 {
	var at int64
	for i := range c.Tokens {
		if id, err := ParseHDFS(&c.Tokens[i]); err == nil {
			at = max(at, id.Issued)
		}
	}
	return at
}

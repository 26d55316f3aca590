package token

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestVint(t *testing.T) {
	// What Hadoop's WritableUtils writes.
	tests := []struct {
		v    int64
		want string
	}{
		{0, "00"}, {1, "01"}, {127, "7f"}, {-1, "ff"}, {-112, "90"},
		{128, "8f80"}, {255, "8fff"}, {256, "8e0100"}, {65536, "8d010000"},
		{-113, "8770"}, {-256, "87ff"}, {-257, "860100"},
		{math.MaxInt32, "8c7fffffff"}, {math.MinInt32, "847fffffff"},
		{math.MaxInt64, "887fffffffffffffff"}, {math.MinInt64, "807fffffffffffffff"},
	}
	for _, tt := range tests {
		b := AppendVint(nil, tt.v)
		if got := hex.EncodeToString(b); got != tt.want {
			t.Errorf("%d is written as %s, want %s", tt.v, got, tt.want)
		}
		v, n, err := ConsumeVint(append(b, 0xaa))
		if v != tt.v || n != len(b) || err != nil {
			t.Errorf("%s is read as %d in %d bytes, %v", tt.want, v, n, err)
		}
		for i := range b {
			if _, _, err := ConsumeVint(b[:i]); err == nil {
				t.Errorf("%x cut to %d bytes is read", b, i)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		if got, _, err := ConsumeVint(AppendVint(nil, v)); got != v || err != nil {
			t.Fatalf("%d came back as %d, %v", v, got, err)
		}
	})
}

// What a NodeManager writes for a container without tokens.
func TestNoTokens(t *testing.T) {
	empty := []byte("HDTS\x00\x00\x00")
	c, err := Parse(empty)
	if err != nil || len(c.Tokens) != 0 || len(c.Secrets) != 0 {
		t.Errorf("got %v, %v", c, err)
	}
	if got := (&Credentials{}).Bytes(); !bytes.Equal(got, empty) {
		t.Errorf("written as %x", got)
	}
}

func sample() *Credentials {
	return &Credentials{
		Tokens: []Token{
			{Alias: "am", Identifier: []byte{0, 1, 2}, Password: []byte("pw"), Kind: KindAMRM},
			{Alias: "nn", Identifier: hdfsIdentifier, Password: []byte{}, Kind: KindHDFS, Service: "127.0.0.1:8020"},
			{Alias: "ha", Identifier: []byte{9}, Password: []byte{8}, Kind: KindHDFS, Service: "ha-hdfs:prod"},
		},
		Secrets: map[string][]byte{"muster.start": []byte("secret\x00start"), "b": {}},
	}
}

func TestBothFormats(t *testing.T) {
	want := sample()
	got, err := Parse(want.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("format 0 (-want +got):\n%s", diff)
	}
	p := &ipcpb.Credentials{}
	for _, k := range want.Tokens {
		p.Tokens = append(p.Tokens, &ipcpb.CredentialsKV{Alias: &k.Alias, Token: k.Proto()})
	}
	for name, v := range want.Secrets {
		p.Secrets = append(p.Secrets, &ipcpb.CredentialsKV{Alias: &name, Secret: v})
	}
	body, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err = Parse(protowire.AppendBytes([]byte("HDTS\x01"), body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("format 1 (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	many := append([]byte("HDTS\x00"), AppendVint(nil, MaxItems+1)...)
	whole := sample().Bytes()
	tests := map[string][]byte{
		"nothing":              nil,
		"another magic":        []byte("HDTX\x00\x00\x00"),
		"another format":       []byte("HDTS\x07\x00\x00"),
		"too many tokens":      append(many, make([]byte, 100)...),
		"a negative count":     []byte("HDTS\x00\xff\x00"),
		"a negative length":    []byte("HDTS\x00\x01\xff"),
		"a length beyond it":   append([]byte("HDTS\x00\x01"), AppendVint(nil, math.MaxInt64)...),
		"cut":                  whole[:len(whole)-3],
		"a cut protobuf":       []byte("HDTS\x01\x05\x00"),
		"a protobuf of others": []byte("HDTS\x01\x02\xff\xff"),
		"an alias alone":       protowire.AppendBytes([]byte("HDTS\x01"), []byte("\x0a\x03\x0a\x01a")),
		"too many fields":      protowire.AppendBytes([]byte("HDTS\x01"), bytes.Repeat([]byte("\x0a\x00"), 2*MaxItems+2)),
		"too large":            append([]byte("HDTS\x00"), make([]byte, MaxSize)...),
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			if c, err := Parse(b); !errors.Is(err, ErrFormat) {
				t.Errorf("got %v, %v, want %v", c, err, ErrFormat)
			}
		})
	}
}

func TestFind(t *testing.T) {
	c := sample()
	if got := c.ByKind(KindAMRM); got == nil || got.Alias != "am" {
		t.Errorf("by kind: %v", got)
	}
	if got := c.For(KindHDFS, "ha-hdfs:prod"); got == nil || got.Alias != "ha" {
		t.Errorf("by service: %v", got)
	}
	if got := c.ByKind(KindNM); got != nil {
		t.Errorf("a kind that is not there: %v", got)
	}
	if got := c.For(KindAMRM, "elsewhere"); got != nil {
		t.Errorf("a service that is not there: %v", got)
	}
	c.ByKind(KindAMRM).Password[0] = 'x'
	if c.Tokens[0].Password[0] != 'p' {
		t.Error("a found token shares its bytes with the credentials")
	}
}

func TestAlias(t *testing.T) {
	c := &Credentials{Tokens: []Token{{Kind: "K", Service: "s:1"}, {Kind: "K"}, {Alias: "a", Kind: "K"}}}
	got, err := Parse(c.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"s:1", "K", "a"} {
		if got.Tokens[i].Alias != want {
			t.Errorf("token %d is filed as %q, want %q", i, got.Tokens[i].Alias, want)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "container_tokens")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, sample().Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if diff := cmp.Diff(sample(), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("nonsense: %v", err)
	}
}

// hdfsIdentifier is alice's, for the renewer rm/host@REALM, asked for by hue.
var hdfsIdentifier = append([]byte("\x00\x05alice\x0frm/host@REALM.X\x03hue"),
	AppendVint(AppendVint(AppendVint(AppendVint(nil, 1700000000000), 1700604800000), 7), 2)...)

func TestHDFSIdentifier(t *testing.T) {
	got, err := ParseHDFS(&Token{Kind: KindHDFS, Identifier: hdfsIdentifier})
	want := HDFSIdentifier{Owner: "alice", Renewer: "rm/host@REALM.X", RealUser: "hue", Issued: 1700000000000, Max: 1700604800000}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, bad := range map[string]*Token{
		"no token":        nil,
		"another kind":    {Kind: KindAMRM, Identifier: hdfsIdentifier},
		"nothing":         {Kind: KindHDFS},
		"cut":             {Kind: KindHDFS, Identifier: hdfsIdentifier[:9]},
		"another version": {Kind: KindHDFS, Identifier: append([]byte{1}, hdfsIdentifier[1:]...)},
	} {
		if id, err := ParseHDFS(bad); err == nil {
			t.Errorf("%s: got %v", name, id)
		}
	}
}

func TestStringKeepsThePassword(t *testing.T) {
	k := &Token{Kind: "K", Service: "s:1", Password: []byte("hunter2")}
	if got := k.String(); got != "K for s:1" {
		t.Errorf("got %q", got)
	}
}

// Any bytes are credentials or an error; what was read is written and read again
// as it was.
func FuzzParse(f *testing.F) {
	f.Add([]byte("HDTS\x00\x00\x00"))
	f.Add(sample().Bytes())
	f.Add([]byte("HDTS\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			return
		}
		for i := range c.Tokens {
			_, _ = ParseHDFS(&c.Tokens[i])
			c.Tokens[i].Alias = c.Tokens[i].alias()
		}
		again, err := Parse(c.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	})
}

func TestPassingOnOneKindLeavesTheRestOut(t *testing.T) {
	issued := func(service string, at int64) Token {
		id := append([]byte{0}, 1, 'a', 1, 'r', 0)
		return Token{Kind: KindHDFS, Service: service, Identifier: AppendVint(AppendVint(id, at), at+1)}
	}
	c := &Credentials{Tokens: []Token{issued("a", 5), {Kind: KindRM, Service: "rm"}, issued("b", 9), {Kind: KindHDFS, Service: "odd"}},
		Secrets: map[string][]byte{"s": {1}}}
	got := c.Only(KindHDFS)
	if len(got.Tokens) != 3 || got.For(KindRM, "rm") != nil || got.For(KindHDFS, "b") == nil || got.Secrets != nil || len(c.Tokens) != 4 {
		t.Errorf("%+v", got)
	}
	if at := c.Issued(); at != 9 {
		t.Errorf("issued at %d", at)
	}
	if at := (&Credentials{}).Issued(); at != 0 {
		t.Errorf("nothing was issued at %d", at)
	}
}

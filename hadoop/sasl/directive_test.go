package sasl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirectives(t *testing.T) {
	tests := []struct {
		in   string
		want map[string][]string // nil: refused
	}{
		{``, map[string][]string{}},
		{` , ,`, map[string][]string{}},
		{`a=b`, map[string][]string{"a": {"b"}}},
		{`A="b c",d=e`, map[string][]string{"a": {"b c"}, "d": {"e"}}},
		{`a = "b" , c = d `, map[string][]string{"a": {"b"}, "c": {"d"}}},
		{`a="x\"y\\z"`, map[string][]string{"a": {`x"y\z`}}},
		{`a="1,2",b=""`, map[string][]string{"a": {"1,2"}, "b": {""}}},
		{`realm="x",realm="y"`, map[string][]string{"realm": {"x", "y"}}},
		{`nonce="x",nonce="y"`, nil},
		{`a`, nil},
		{`=b`, nil},
		{`a="b`, nil},
		{`a="b\`, nil},
		{`a="b"c`, nil},
		{`a b=c`, nil},
		{strings.Repeat("a", maxChallenge+1), nil},
		{strings.Repeat("realm=x,", maxDirectives+1), nil},
	}
	for _, tt := range tests {
		got, err := directives(tt.in)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%.40q: got %v, %v", tt.in, got, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", tt.in, diff)
		}
	}
}

// Whatever a server says, it is read or refused; what is read can be written and
// read again.
func FuzzDirectives(f *testing.F) {
	f.Add(`realm="default",nonce="uTcsaLck9YN",qop="auth,auth-int",cipher="3des,rc4",charset=utf-8,algorithm=md5-sess`)
	f.Add(`rspauth=ee27c626b0d182135f605795fbfc3bdc`)
	f.Add(`a="x\"y",b= c ,,d="`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := directives(in)
		if err != nil {
			return
		}
		var parts []string
		for name, values := range got {
			for _, v := range values {
				parts = append(parts, name+"="+quote(v))
			}
		}
		text := strings.Join(parts, ",")
		if len(text) > maxChallenge {
			return // quoting made it longer than what is read
		}
		again, err := directives(text)
		if err != nil {
			t.Fatalf("%q written as %q: %v", in, text, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("%q (-first +again):\n%s", in, diff)
		}
	})
}

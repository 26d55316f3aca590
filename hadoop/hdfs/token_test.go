package hdfs

import (
	"testing"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/token"
)

func TestTheTokenOfAFileSystemIsFound(t *testing.T) {
	have := &token.Credentials{}
	for _, service := range []string{"ha-hdfs:prod", "127.0.0.1:8020", "archive:8020"} {
		have.Tokens = append(have.Tokens, token.Token{Kind: token.KindHDFS, Service: service})
	}
	have.Tokens = append(have.Tokens, token.Token{Kind: token.KindRM, Service: "127.0.0.1:9000"})
	at := func(service string, addresses ...string) conf.Filesystem {
		fs := conf.Filesystem{Service: service}
		for _, a := range addresses {
			fs.NameNodes = append(fs.NameNodes, conf.Server{Address: a})
		}
		return fs
	}
	for name, tc := range map[string]struct {
		fs   conf.Filesystem
		want string
	}{
		"nameservice":                {at("ha-hdfs:prod", "nn1:8020", "nn2:8020"), "ha-hdfs:prod"},
		"another nameservice":        {at("ha-hdfs:test", "127.0.0.1:8020"), ""},
		"by host":                    {at("", "archive:8020"), "archive:8020"},
		"by address of the host":     {at("", "localhost:8020"), "127.0.0.1:8020"},
		"another port":               {at("", "localhost:8021"), ""},
		"a token of another kind":    {at("", "127.0.0.1:9000"), ""},
		"a host that is not known":   {at("", "no-such-host.invalid:8020"), ""},
		"an address without a port ": {at("", "localhost"), ""},
	} {
		got := TokenFor(t.Context(), tc.fs, have)
		if (got == nil) != (tc.want == "") || got != nil && got.Service != tc.want {
			t.Errorf("%s: %v, want %q", name, got, tc.want)
		}
	}
	if TokenFor(t.Context(), at("", "localhost:8020"), nil) != nil {
		t.Error("of nothing")
	}
}

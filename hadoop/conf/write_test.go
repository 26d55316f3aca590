package conf

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXML(t *testing.T) {
	c := New(map[string]string{
		"a": "1", "b": "${a}<&>\"'\r\n\t${none}", "c": "no",
		"javax.jdo.option.ConnectionPassword": "x", "fs.s3a.secret.key": "x", "dfs.client.oauth2.access.token": "x", "my.password": "x",
		"fs.azure.account.key.x.net": "x",
	})
	got := read(t, string(c.XML(func(key string) bool { return key != "c" })))
	want := map[string]string{"a": "1", "b": "1<&>\"'\r\n\t${none}"}
	if diff := cmp.Diff(want, all(got)); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
	if whole := read(t, string(c.XML(nil))); len(whole.Keys()) != 3 {
		t.Errorf("all: %v", whole.Keys())
	}
	if first, again := c.XML(nil), c.XML(nil); !bytes.Equal(first, again) {
		t.Error("the same configuration gives other bytes")
	}
}

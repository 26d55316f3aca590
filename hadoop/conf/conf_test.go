package conf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site wraps properties, "key=value" each, into a site file.
func site(properties ...string) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, p := range properties {
		k, v, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// dir writes files into a new directory.
func dir(t *testing.T, files map[string]string) string {
	t.Helper()
	d := t.TempDir()
	for name, text := range files {
		path := filepath.Join(d, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// read reads one document, without includes, that must be good.
func read(t *testing.T, text string, with ...Option) *Conf {
	t.Helper()
	c, err := Read("t.xml", strings.NewReader(text), nil, with...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// all gives every value of a configuration.
func all(c *Conf) map[string]string {
	out := map[string]string{}
	for _, k := range c.Keys() {
		out[k], _ = c.Get(k)
	}
	return out
}

func TestLoad(t *testing.T) {
	d := dir(t, map[string]string{
		"core-site.xml":      site("fs.defaultFS=hdfs://a:1", "both=core"),
		"hdfs-site.xml":      site("both=hdfs", "dfs.x=1"),
		"yarn-site.xml":      site("both=yarn"),
		"resource-types.xml": site("yarn.resource-types=yarn.io/gpu"),
		"mapred-site.xml":    site("both=never"),
	})
	c, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"fs.defaultFS": "hdfs://a:1", "both": "yarn", "dfs.x": "1", "yarn.resource-types": "yarn.io/gpu"}
	if diff := cmp.Diff(want, all(c)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{"both": "yarn-site.xml:3", "dfs.x": "hdfs-site.xml:4", "hadoop.tmp.dir": "default", "nothing": ""} {
		if got := c.Origin(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
	if c.Dir() != d {
		t.Errorf("read from %q", c.Dir())
	}
}

func TestLoadFails(t *testing.T) {
	for name, d := range map[string]string{"no name": "", "no directory": filepath.Join(t.TempDir(), "x"), "no file": t.TempDir()} {
		if _, err := Load(d); !errors.Is(err, ErrNone) {
			t.Errorf("%s: got %v, want %v", name, err, ErrNone)
		}
	}
	d := dir(t, map[string]string{"core-site.xml": "<configuration>\n<property>\n</configuration>"})
	_, err := Load(d)
	if err == nil || !strings.Contains(err.Error(), "core-site.xml:3: not XML: ") {
		t.Errorf("got %v", err)
	}
}

func TestFinal(t *testing.T) {
	d := dir(t, map[string]string{
		"core-site.xml": `<configuration><property><name>a</name><value>core</value><final>true</final></property>` +
			`<property><name>b</name><value>core</value><final> true </final></property></configuration>`,
		"yarn-site.xml": site("a=yarn", "b=yarn", "c=yarn"),
	})
	c, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "core", "b": "core", "c": "yarn"}, all(c)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	w := c.With(map[string]string{"a": "mine", "fs.default.name": "hdfs://x"})
	if w.String("a", "") != "mine" || w.Origin("a") != "set" || w.String("fs.defaultFS", "") != "hdfs://x" {
		t.Errorf("what was set for one run: %v", all(w))
	}
	if c.String("a", "") != "core" {
		t.Error("With changed the original")
	}
}

func TestFind(t *testing.T) {
	c := New(map[string]string{"a": " x "})
	if v, err := c.Find("a"); v != "x" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	for key, file := range map[string]string{
		"yarn.resourcemanager.hostname": "yarn-site.xml", "dfs.nameservices": "hdfs-site.xml",
		"fs.defaultFS": "core-site.xml", "yarn.resource-types": "resource-types.xml",
	} {
		_, err := c.Find(key)
		m, ok := errors.AsType[*Missing](err)
		if !ok || !errors.Is(err, ErrMissing) || m.Key != key || m.File != file {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

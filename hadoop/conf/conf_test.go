package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
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

func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
	}{
		{"attributes", `<configuration><property name="a" value="1" final="true"/><property name="a" value="2"/></configuration>`, map[string]string{"a": "1"}},
		{"names are trimmed, values are not", `<configuration><property><name> a
</name><value> 1 </value></property></configuration>`, map[string]string{"a": " 1 "}},
		{"an empty value", `<configuration><property><name>a</name><value/></property></configuration>`, map[string]string{"a": ""}},
		{"half a property", `<configuration><property><name>a</name></property><property><value>1</value></property></configuration>`, map[string]string{}},
		{"other elements", `<configuration><property><name>a</name><value>1</value><description>x <b>y</b></description><source>z</source></property><x><property/></x></configuration>`, map[string]string{"a": "1"}},
		{"one inside another", `<configuration><configuration><property><name>a</name><value>1</value></property></configuration></configuration>`, map[string]string{"a": "1"}},
		{"entities and cdata", `<configuration><property><name>a</name><value>&lt;&amp;&#65;<![CDATA[<b>]]><!-- no --></value></property></configuration>`, map[string]string{"a": "<&A<b>"}},
		{"the last one wins", site("a=1", "a=2"), map[string]string{"a": "2"}},
		{"renamed keys", site("fs.default.name=hdfs://x"), map[string]string{"fs.defaultFS": "hdfs://x"}},
		{"a doctype", "<!DOCTYPE configuration>" + `<configuration/>`, map[string]string{}},
		{"lines of other systems", strings.ReplaceAll(site("a=x\ny"), "\n", "\r\n"), map[string]string{"a": "x\ny"}},
		{"byte order mark", "\ufeff" + site("a=é"), map[string]string{"a": "é"}},
		{"latin", "<?xml version='1.0' encoding='ISO-8859-1'?><configuration><property><name>a</name><value>\xe9</value></property></configuration>", map[string]string{"a": "é"}},
		{"utf-16, little end first", wideText("\ufeff"+site("a=é𝄞"), false), map[string]string{"a": "é𝄞"}},
		{"utf-16, big end first", wideText("\ufeff<?xml version='1.0' encoding='UTF-16'?>"+strings.TrimPrefix(site("a=é"), "<?xml version=\"1.0\"?>"), true), map[string]string{"a": "é"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, all(read(t, tt.text))); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func wideText(s string, big bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func TestReadRefuses(t *testing.T) {
	const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>` +
		`<configuration><property><name>a</name><value>&c;</value></property></configuration>`
	tests := []struct{ name, text, says string }{
		{"nothing", "", "no <configuration>"},
		{"another root", "<html/>", "<html> where <configuration>"},
		{"cut", "<configuration><property><name>a", "t.xml:1: not XML: unexpected EOF"},
		{"not XML", "key=value", "no <configuration>"},
		{"an entity bomb", bomb, "entities of its own"},
		{"an external entity", `<!DOCTYPE x [<!ENTITY p SYSTEM "file:///etc/passwd">]><configuration><property><name>a</name><value>&p;</value></property></configuration>`, "entities of its own"},
		{"another encoding", "<?xml version='1.0' encoding='EBCDIC'?><configuration/>", "EBCDIC"},
		{"too deep", "<configuration>" + strings.Repeat("<a>", 100), "more than 32"},
		{"deep inside a value", "<configuration><property><value>" + strings.Repeat("<a>", 100), "more than 32"},
		{"an include without permission", `<configuration><include href="x"/></configuration>`, `include of "x"`},
		{"an include of text", `<configuration><include href="x" parse="text"/></configuration>`, "not supported"},
		{"an include of nothing", `<configuration><include/></configuration>`, "names nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Read("t.xml", strings.NewReader(tt.text), nil)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v, want an error with %q", c, err, tt.says)
			}
		})
	}
}

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestLargeFiles(t *testing.T) {
	const small = 128 << 10 // the bound of the cases that stand for their kind
	head := "<configuration><property><name>a</name><value>"
	tests := []struct {
		name  string
		bound int64
		text  io.Reader
	}{
		{"a value of 100 MB", MaxBytes, io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, 100<<20))},
		{"a comment", small, io.MultiReader(strings.NewReader("<!--"), zeros{})},
		{"many attributes", small, strings.NewReader("<configuration><a" + strings.Repeat(" a=''", small/5))},
		{"many properties", small, strings.NewReader("<configuration>" + strings.Repeat("<property/>", small/11))},
		{"many bytes behind it", small, io.MultiReader(strings.NewReader("<configuration/>"), zeros{})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := &document{c: empty(nil), left: tt.bound}
			err := d.document("t.xml", tt.text)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrLarge) {
				t.Errorf("got %v, want %v", err, ErrLarge)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64*tt.bound {
				t.Errorf("the heap grew by %d KiB for %d", grown>>10, tt.bound>>10)
			}
		})
	}
	full := site("a=") // exactly as large as is allowed
	full = strings.Replace(full, "<value>", "<value>"+strings.Repeat("x", MaxBytes-len(full)), 1)
	if c := read(t, full); len(c.values["a"].value) < MaxBytes-200 {
		t.Error("a file of the largest size is not read")
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

func TestInclude(t *testing.T) {
	const head = `<configuration xmlns:xi="http://www.w3.org/2001/XInclude">`
	tests := []struct {
		name  string
		files map[string]string
		want  map[string]string
		is    error
		says  string
	}{
		{"beside", map[string]string{"core-site.xml": head + `<xi:include href="more/a.xml"/></configuration>`,
			"more/a.xml": head + `<xi:include href="b.xml"/></configuration>`, "more/b.xml": site("b=1")},
			map[string]string{"b": "1"}, nil, ""},
		{"order counts", map[string]string{"core-site.xml": head + `<property name="a" value="before"/><xi:include href="x.xml"/><property name="b" value="after"/></configuration>`,
			"x.xml": site("a=inside", "b=inside")}, map[string]string{"a": "inside", "b": "after"}, nil, ""},
		{"fallback", map[string]string{"core-site.xml": head + `<xi:include href="none.xml"><xi:fallback><property name="a" value="fallen"/></xi:fallback></xi:include></configuration>`},
			map[string]string{"a": "fallen"}, nil, ""},
		{"an empty fallback", map[string]string{"core-site.xml": head + `<xi:include href="none.xml"><xi:fallback/></xi:include></configuration>`},
			map[string]string{}, nil, ""},
		{"no need to fall back", map[string]string{"core-site.xml": head + `<xi:include href="x.xml"><xi:fallback><property name="a" value="fallen"/></xi:fallback></xi:include></configuration>`,
			"x.xml": site("a=1")}, map[string]string{"a": "1"}, nil, ""},
		{"a fallback that includes", map[string]string{"core-site.xml": head + `<xi:include href="none.xml"><xi:fallback><xi:include href="x.xml"/></xi:fallback></xi:include></configuration>`,
			"x.xml": site("a=1")}, map[string]string{"a": "1"}, nil, ""},
		{"no fallback", map[string]string{"core-site.xml": head + `<xi:include href="none.xml"/></configuration>`}, nil, os.ErrNotExist, `include of "none.xml"`},
		{"the network", map[string]string{"core-site.xml": head + `<xi:include href="http://example.org/x.xml"/></configuration>`}, nil, nil, "only files"},
		{"broken inside is no reason to fall back", map[string]string{"core-site.xml": head + `<xi:include href="x.xml"><xi:fallback/></xi:include></configuration>`,
			"x.xml": "<configuration>"}, nil, nil, "core-site.xml:1: x.xml:1: not XML"},
		{"itself", map[string]string{"core-site.xml": head + `<xi:include href="core-site.xml"/></configuration>`}, nil, ErrInclude, ""},
		{"in a circle", map[string]string{"core-site.xml": head + `<xi:include href="./x.xml"/></configuration>`,
			"x.xml": head + `<xi:include href="y.xml"/></configuration>`, "y.xml": head + `<xi:include href="x.xml"><xi:fallback/></xi:include></configuration>`}, nil, ErrInclude, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(dir(t, tt.files))
			if tt.want == nil {
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v, want %v with %q", err, tt.is, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, all(c)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		other := dir(t, map[string]string{"x/a.xml": head + `<xi:include href="../b.xml"/></configuration>`, "b.xml": site("b=1")})
		for _, href := range []string{other + "/x/a.xml", "file://" + other + "/x/a.xml"} {
			c, err := Load(dir(t, map[string]string{"core-site.xml": head + `<xi:include href="` + href + `"/></configuration>`}))
			if err != nil || c.String("b", "") != "1" {
				t.Errorf("%s: got %v", href, err)
			}
		}
	})
	t.Run("a file that grows with each include", func(t *testing.T) {
		count := 0
		_, err := Read("0", strings.NewReader(head+`<xi:include href="1"/>`), func(href string) (io.ReadCloser, error) {
			count++
			return io.NopCloser(strings.NewReader(fmt.Sprintf(`%s<xi:include href="%s0"/><xi:include href="%s1"/></configuration>`, head, href, href))), nil
		})
		if !errors.Is(err, ErrInclude) || count > maxIncludes {
			t.Errorf("got %v after %d includes, want %v", err, count, ErrInclude)
		}
	})
}

func TestVariables(t *testing.T) {
	env := Env(func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/bob", "EMPTY": ""}[name]
		return v, ok
	})
	tests := []struct{ value, want string }{
		{"plain", "plain"},
		{"${b}", "B"},
		{"<${b}|${b}>", "<B|B>"},
		{"${c}", "<B>"},
		{"${env.HOME}/x", "/home/bob/x"},
		{"${env.NONE}", "${env.NONE}"},
		{"${env.NONE-x}", "x"},
		{"${env.NONE:-x}", "x"},
		{"${env.EMPTY}", ""},
		{"${env.EMPTY-x}", ""},
		{"${env.EMPTY:-x}", "x"},
		{"${env.HOME:-x}", "/home/bob"},
		{"${user.name}", "bob"},
		{"${hadoop.tmp.dir}", "/tmp/hadoop-bob"},
		{"${none}", "${none}"},
		{"${none} ${b}", "${none} ${b}"}, // as Hadoop: nothing behind it is looked at
		{"${${d}}", "B"},
		{"${}", "${}"},
		{"${with blank}", "${with blank}"},
		{"${b", "${b"},
		{"$b}", "$b}"},
		{"${fs.default.name}", "hdfs://x"},
		{"${self}", "${self}"},
		{"${ping}", "${ping}"},
		{strings.Repeat("${b}", 20), strings.Repeat("B", 20)},
		{strings.Repeat("${b}", 21), strings.Repeat("${b}", 21)},
	}
	for _, tt := range tests {
		c := New(map[string]string{
			"a": tt.value, "b": "B", "c": "<${b}>", "d": "b", "fs.defaultFS": "hdfs://x",
			"self": "x${self}", "ping": "${pong}", "pong": "${ping}",
		}, env, User("bob"))
		got, ok := c.Get("a")
		// Of two that refer to each other any may be left.
		if got == "${pong}" {
			got = "${ping}"
		}
		if got != strings.ReplaceAll(tt.want, "${self}", got) && got != tt.want || !ok {
			t.Errorf("%q becomes %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestVariablesAreBounded(t *testing.T) {
	values := map[string]string{"v0": strings.Repeat("x", 1000)}
	for i := 1; i < 30; i++ {
		values[fmt.Sprint("v", i)] = fmt.Sprintf("${v%d}${v%d}", i-1, i-1)
	}
	values["wide"] = strings.Repeat("y", maxValue)
	values["wider"] = "${wide}${wide}"
	c := New(values)
	for _, key := range []string{"v29", "wider"} {
		if got := c.String(key, ""); got != values[key] {
			t.Errorf("%s becomes %d bytes", key, len(got))
		}
	}
	if p := c.Problems(); len(p) != 2 || !errors.Is(p[0], errDeep) || !errors.Is(p[1], errLong) {
		t.Errorf("problems: %v", p)
	}
}

// Whatever values refer to, filling in ends, and what has no variable is itself.
func TestVariablesAlwaysEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"${a}", "${b}", "${c}", "${", "}", "$", "x", "${user.name}", "${env.E:-${a}}"})
		value := rapid.Map(rapid.SliceOfN(part, 0, 8), func(p []string) string { return strings.Join(p, "") })
		values := map[string]string{"a": value.Draw(t, "a"), "b": value.Draw(t, "b"), "c": value.Draw(t, "c")}
		c := New(values, User("bob"))
		for k, v := range values {
			got, ok := c.Get(k)
			if !ok || len(got) > maxValue || !strings.Contains(v, "${") && got != v {
				t.Fatalf("%q becomes %q", v, got)
			}
		}
	})
}

func TestValues(t *testing.T) {
	c := New(map[string]string{
		"i": " 42 ", "hex": "0x1F", "neg": "-7", "bad": "4 2", "big": "99999999999999999999", "empty": "  ",
		"t": " TRUE ", "f": "false", "yes": "yes",
		"s": "64k", "s2": "128 M", "s3": "7", "s4": "9e", "sbad": "12q",
		"d": "30", "d2": "5s", "d3": "250 ms", "d4": "2D", "d5": "1m", "d6": "3h", "d7": "10us", "d8": "10ns", "dbad": "1.5s", "dlong": "999999999d",
		"list": " a, b ,,c\n,",
	})
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("i", c.Int("i", 1), int64(42))
	check("hex", c.Int("hex", 1), int64(31))
	check("neg", c.Int("neg", 1), int64(-7))
	check("bad", c.Int("bad", 1), int64(1))
	check("big", c.Int("big", 1), int64(1))
	check("empty", c.Int("empty", 1), int64(1))
	check("none", c.Int("none", 1), int64(1))
	check("t", c.Bool("t", false), true)
	check("f", c.Bool("f", true), false)
	check("yes", c.Bool("yes", true), true)
	check("s", c.Size("s", 1), int64(64<<10))
	check("s2", c.Size("s2", 1), int64(128<<20))
	check("s3", c.Size("s3", 1), int64(7))
	check("s4", c.Size("s4", 1), int64(1))
	check("sbad", c.Size("sbad", 1), int64(1))
	check("d", c.Duration("d", 0, time.Second), 30*time.Second)
	check("d in ms", c.Duration("d", 0, time.Millisecond), 30*time.Millisecond)
	check("d2", c.Duration("d2", 0, time.Millisecond), 5*time.Second)
	check("d3", c.Duration("d3", 0, time.Second), 250*time.Millisecond)
	check("d4", c.Duration("d4", 0, time.Second), 48*time.Hour)
	check("d5", c.Duration("d5", 0, time.Second), time.Minute)
	check("d6", c.Duration("d6", 0, time.Second), 3*time.Hour)
	check("d7", c.Duration("d7", 0, time.Second), 10*time.Microsecond)
	check("d8", c.Duration("d8", 0, time.Second), 10*time.Nanosecond)
	check("dbad", c.Duration("dbad", time.Hour, time.Second), time.Hour)
	check("dlong", c.Duration("dlong", time.Hour, time.Second), time.Hour)
	check("list", c.Strings("list"), []string{"a", "b", "c"})
	check("no list", c.Strings("none"), []string(nil))
	check("trimmed", c.String("i", ""), "42")
	check("empty text", c.String("empty", "x"), "x")
	var got []string
	for _, p := range c.Problems() {
		got = append(got, p.Error())
	}
	check("problems", got, []string{
		`bad: "4 2" is no whole number (set)`,
		`big: "99999999999999999999" is no whole number (set)`,
		`dbad: "1.5s" is no duration: want a whole number and ns, us, ms, s, m, h or d (set)`,
		`dlong: "999999999d" is no duration: too long (set)`,
		`s4: "9e" is no size (set)`,
		`sbad: "12q" is no size (set)`,
		`yes: "yes" is neither true nor false (set)`,
	})
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

// Any file is a configuration or an error; what was read is written and read
// again as it was.
func FuzzRead(f *testing.F) {
	f.Add([]byte(site("a=${b}", "b=x")))
	f.Add([]byte(`<configuration><include href="x"><fallback><property name="a" value="1" final="true"/></fallback></include></configuration>`))
	f.Add([]byte("\xff\xfe<\x00"))
	f.Add([]byte("<?xml version='1.0' encoding='latin1'?><!DOCTYPE a [<!ENTITY b 'c'>]><configuration/>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		include := func(string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(site("i=1"))), nil
		}
		c, err := Read("t.xml", strings.NewReader(string(b)), include)
		if err != nil {
			return
		}
		_, _ = c.ResourceManagers(RMClient)
		_, _ = c.NameNodes("")
		again, err := Read("t.xml", strings.NewReader(string(c.XML(nil))), nil)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", b, c.XML(nil), err)
		}
		want := all(c)
		for k := range want {
			if Sensitive(k) {
				delete(want, k)
			}
		}
		if diff := cmp.Diff(want, all(again)); diff != "" {
			t.Fatalf("%q (-first +again):\n%s", b, diff)
		}
	})
}

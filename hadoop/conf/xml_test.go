package conf

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

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

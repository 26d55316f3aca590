package conf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

package conf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of what is read: real sites have some hundred kilobytes, and an XML
// reader may need twenty times a hostile file's size.
const (
	MaxBytes    = 2 << 20 // of one site file with all that it includes
	maxDepth    = 32      // elements inside each other
	maxIncludes = 256
	maxNesting  = 16 // includes inside each other
)

var (
	// ErrLarge says that a file, with what it includes, is larger than MaxBytes.
	ErrLarge = fmt.Errorf("larger than %d bytes", MaxBytes)
	// ErrInclude says that an include leads back to itself, too deep or to too
	// many files.
	ErrInclude = errors.New("includes without end")
)

// document reads one site file and what it includes.
type document struct {
	c        *Conf
	open     func(href string) (io.ReadCloser, error)
	left     int64 // bytes that may still be read
	includes int
	stack    []string // names of the documents that are being read, outermost first
}

func (c *Conf) read(name string, r io.Reader, include func(string) (io.ReadCloser, error)) error {
	if include == nil {
		include = func(string) (io.ReadCloser, error) { return nil, errors.New("nothing is included here") }
	}
	d := &document{c: c, open: include, left: MaxBytes}
	return d.document(name, r)
}

// document reads one file into the configuration.
func (d *document) document(name string, r io.Reader) error {
	d.stack = append(d.stack, name)
	defer func() { d.stack = d.stack[:len(d.stack)-1] }()
	text, err := decode(&limited{r: r, d: d})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	x := xml.NewDecoder(text)
	x.CharsetReader = charset
	p := &parser{d: d, x: x, name: name}
	if err := p.root(); err != nil {
		line, _ := x.InputPos()
		return fmt.Errorf("%s:%d: %w", name, line, plain(err))
	}
	return nil
}

// plain takes the package's own prefix and line off a syntax error.
func plain(err error) error {
	if s, ok := errors.AsType[*xml.SyntaxError](err); ok {
		if strings.Contains(s.Msg, "character entity") {
			return fmt.Errorf("%s: entities of its own are not supported", s.Msg)
		}
		return fmt.Errorf("not XML: %s", s.Msg)
	}
	return err
}

// limited counts what is read against the document's bound.
type limited struct {
	r io.Reader
	d *document
}

func (l *limited) Read(b []byte) (int, error) {
	if l.d.left <= 0 {
		// One byte tells a file that ends here from one that goes on.
		if n, err := io.ReadFull(l.r, make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, ErrLarge
	}
	if int64(len(b)) > l.d.left {
		b = b[:l.d.left]
	}
	n, err := l.r.Read(b)
	l.d.left -= int64(n)
	return n, err
}

// parser walks over one file's elements.
type parser struct {
	d     *document
	x     *xml.Decoder
	name  string
	depth int
}

// root reads up to the end of the file, which must hold one <configuration>.
func (p *parser) root() error {
	seen := false
	for {
		t, err := p.x.Token()
		if errors.Is(err, io.EOF) {
			if !seen {
				return errors.New("no <configuration>")
			}
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local != "configuration" {
			return fmt.Errorf("<%s> where <configuration> is wanted", start.Name.Local)
		}
		seen = true
		if err := p.configuration(); err != nil {
			return err
		}
	}
}

// configuration reads what lies inside <configuration>, or inside a fallback.
func (p *parser) configuration() error {
	return p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "property":
			return p.property(e)
		case "configuration":
			return p.configuration()
		case "include":
			return p.include(e)
		}
		return p.skip()
	})
}

// children calls do for each element up to the end of the one that was just
// begun; do must read its element to the end.
func (p *parser) children(do func(xml.StartElement) error) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("more than %d elements inside each other", maxDepth)
	}
	defer func() { p.depth-- }()
	for {
		t, err := p.x.Token()
		if err != nil {
			return eof(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := do(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip reads an element of no meaning to its end.
func (p *parser) skip() error {
	return p.children(func(xml.StartElement) error { return p.skip() })
}

// eof is what an end inside an element means.
func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// text reads an element's character data to its end.
func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		t, err := p.x.Token()
		if err != nil {
			return "", eof(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := p.skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// property reads <property>, whose parts are elements or attributes.
func (p *parser) property(e xml.StartElement) error {
	line, _ := p.x.InputPos()
	got := map[string]string{}
	for _, a := range e.Attr {
		got[a.Name.Local] = a.Value
	}
	err := p.children(func(e xml.StartElement) error {
		if !slices.Contains([]string{"name", "value", "final"}, e.Name.Local) {
			return p.skip()
		}
		text, err := p.text()
		got[e.Name.Local] = text
		return err
	})
	if err != nil {
		return err
	}
	value, has := got["value"]
	key := strings.TrimSpace(got["name"])
	if key == "" || !has {
		return nil // as in Hadoop, half a property means nothing
	}
	p.d.c.put(key, property{
		value:  value,
		origin: fmt.Sprintf("%s:%d", p.name, line),
		final:  strings.TrimSpace(got["final"]) == "true",
	})
	return nil
}

// put takes a property over unless an earlier one is final.
func (c *Conf) put(key string, p property) {
	key = current(key)
	if c.values[key].final {
		return
	}
	c.values[key] = p
}

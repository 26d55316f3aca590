package conf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// include reads <xi:include>: the named file, or what its <xi:fallback> holds
// when that cannot be opened.
func (p *parser) include(e xml.StartElement) error {
	href := ""
	for _, a := range e.Attr {
		switch {
		case a.Name.Local == "href":
			href = a.Value
		case a.Name.Local == "parse" && a.Value != "xml":
			return fmt.Errorf("include of %s: parse=%q is not supported", href, a.Value)
		}
	}
	done, err := p.included(href)
	if done && err != nil {
		return err
	}
	fallback := false
	if cerr := p.children(func(e xml.StartElement) error {
		if e.Name.Local != "fallback" || done {
			return p.skip()
		}
		fallback = true
		return p.configuration()
	}); cerr != nil {
		return cerr
	}
	if err != nil && !fallback {
		return fmt.Errorf("include of %q: cannot be opened and has no fallback: %w", href, err)
	}
	return nil
}

// included reads another file in place. It tells whether that could be opened:
// what is wrong inside is no reason for the fallback.
func (p *parser) included(href string) (opened bool, err error) {
	if href == "" {
		return false, errors.New("it names nothing")
	}
	name := href
	if !path.IsAbs(name) && !strings.Contains(name, ":") {
		name = path.Join(path.Dir(p.name), name)
	}
	d := p.d
	if d.includes++; d.includes > maxIncludes || len(d.stack) > maxNesting || slices.Contains(d.stack, name) {
		return true, fmt.Errorf("include of %s: %w", href, ErrInclude)
	}
	r, err := d.open(name)
	if err != nil {
		return false, err
	}
	defer r.Close()
	return true, d.document(name, r)
}

package kerberos

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// node is one line of a krb5.conf with what stands in its braces. The root's
// children are sections.
type node struct {
	name, value string
	at          string // file:line
	children    []*node
	final       bool
}

// Bounds of what is read.
const (
	maxProfile = 1 << 20 // bytes of all files together
	maxInclude = 10      // files inside files
	maxBraces  = 16
)

// profile reads files in krb5.conf's form. read gives a file's bytes, list the
// files of a directory, in order.
type profile struct {
	root *node
	read func(path string) ([]byte, error)
	list func(dir string) ([]string, error)
	size int
}

func newProfile() *profile {
	return &profile{root: &node{}, read: readFile, list: includable}
}

// includable lists what includedir takes: names of letters, digits, dashes and
// underscores, and those that end in .conf.
func includable(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range all {
		n := e.Name()
		odd := strings.IndexFunc(n, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if odd < 0 || strings.HasSuffix(n, ".conf") && !strings.HasPrefix(n, ".") {
			out = append(out, filepath.Join(dir, n))
		}
	}
	return out, nil
}

// file reads one file and what it includes.
func (p *profile) file(path string, depth int) error {
	if depth > maxInclude {
		return fmt.Errorf("%s: included more than %d deep", path, maxInclude)
	}
	b, err := p.read(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, plainPath(err))
	}
	if p.size += len(b); p.size > maxProfile {
		return fmt.Errorf("%s: more than %d bytes in all", path, maxProfile)
	}
	// The section that an including file is in goes on behind an include; the
	// included file begins with none.
	var open []*node
	lineNo := 0
	for line := range bytes.Lines(b) {
		lineNo++
		at := fmt.Sprintf("%s:%d", path, lineNo)
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' || s[0] == ';' {
			continue
		}
		done, err := p.include(s, depth)
		if err == nil && !done {
			open, err = p.line(s, at, open)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if len(open) > 1 {
		return fmt.Errorf("%s: the braces of %s are not closed (%s)", path, open[len(open)-1].name, open[len(open)-1].at)
	}
	return nil
}

// include follows the lines that name other files.
func (p *profile) include(s string, depth int) (bool, error) {
	word, rest, _ := strings.Cut(strings.ReplaceAll(s, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "=") {
		return false, nil
	}
	switch word {
	case "include":
		return true, p.file(rest, depth+1)
	case "includedir":
		files, err := p.list(rest)
		if err != nil {
			return true, fmt.Errorf("%s: %w", rest, plainPath(err))
		}
		for _, f := range files {
			if err := p.file(f, depth+1); err != nil {
				return true, err
			}
		}
		return true, nil
	case "module":
		return true, errors.New("a module cannot be loaded here")
	}
	return false, nil
}

// line takes one line in; open are the section and the braces that it is in.
func (p *profile) line(s, at string, open []*node) ([]*node, error) {
	if s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 0 || len(open) > 1 {
			return nil, errors.New("a section where none can begin")
		}
		return []*node{p.section(strings.TrimSpace(s[1:end]), at)}, nil
	}
	if s[0] == '}' {
		if len(open) < 2 {
			return nil, errors.New("a brace that was not opened")
		}
		return open[:len(open)-1], nil
	}
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		return nil, fmt.Errorf("%q is neither a section nor name = value", s)
	}
	if len(open) == 0 {
		return nil, errors.New("a value outside of any section")
	}
	n := &node{name: strings.TrimSpace(key), value: strings.TrimSpace(value), at: at}
	n.name, n.final = strings.CutSuffix(n.name, "*")
	parent := open[len(open)-1]
	parent.children = append(parent.children, n)
	if n.value == "{" {
		if len(open) >= maxBraces {
			return nil, errors.New("too many braces")
		}
		n.value = ""
		return append(open, n), nil
	}
	if q := n.value; len(q) > 1 && q[0] == '"' && q[len(q)-1] == '"' {
		n.value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(q[1 : len(q)-1])
	}
	return open, nil
}

// section is the one of a name, which may stand several times.
func (p *profile) section(name, at string) *node {
	for _, s := range p.root.children {
		if s.name == name {
			return s
		}
	}
	s := &node{name: name, at: at}
	p.root.children = append(p.root.children, s)
	return s
}

// all lists the nodes at a path of names; the first is the one that counts where
// one is wanted.
func (p *profile) all(path ...string) []*node {
	at := []*node{p.root}
	for _, name := range path {
		var next []*node
		for _, n := range at {
			for _, c := range n.children {
				if c.name == name {
					next = append(next, c)
				}
			}
		}
		at = next
	}
	return at
}

// missing tells that a file is not there at all.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

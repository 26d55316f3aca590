package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ignorer decides what is left out, by the rules of git: a file of patterns
// rules its own directory and all below, later and deeper patterns win, "!"
// takes back, and what lies in an ignored directory cannot be taken back.
//
// There are three voices, and the last that says anything about a name decides:
// .gitignore files, .musterignore files, the caller. So a .musterignore can send
// what git ignores ("!data/"), wherever git's file is.
type ignorer struct {
	git, muster, caller []rule
}

type rule struct {
	base string // directory of its file relative to the root, "" for the root
	pattern
}

func newIgnorer(patterns []string) *ignorer {
	ig := &ignorer{git: parseRules("", ".git")}
	ig.caller = parseRules("", strings.Join(patterns, "\n"))
	return ig
}

// enter gives the rules inside a directory.
func (ig *ignorer) enter(dir, rel string) (*ignorer, error) {
	git, err := readRules(filepath.Join(dir, ".gitignore"), rel)
	if err != nil {
		return nil, err
	}
	own, err := readRules(filepath.Join(dir, ".musterignore"), rel)
	if err != nil {
		return nil, err
	}
	if git == nil && own == nil {
		return ig, nil
	}
	// Full slice expressions: siblings share the rules of their parents and must
	// not write into the same array.
	return &ignorer{
		git:    append(ig.git[:len(ig.git):len(ig.git)], git...),
		muster: append(ig.muster[:len(ig.muster):len(ig.muster)], own...),
		caller: ig.caller,
	}, nil
}

func (ig *ignorer) ignored(name string, dir bool) bool {
	for _, rules := range [][]rule{ig.caller, ig.muster, ig.git} {
		for i := len(rules) - 1; i >= 0; i-- {
			if rules[i].matches(name, dir) {
				return !rules[i].negated
			}
		}
	}
	return false
}

func (r rule) matches(name string, dir bool) bool {
	if r.base != "" {
		rest, below := strings.CutPrefix(name, r.base+"/")
		if !below {
			return false
		}
		name = rest
	}
	return r.match(name, dir)
}

func readRules(path, base string) ([]rule, error) {
	// A directory, or a link (which git does not follow either), is no file of patterns.
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	data, rerr := os.ReadFile(path)
	if err := errors.Join(err, rerr); err != nil {
		return nil, fmt.Errorf("%s: cannot read: %w", path, cause(err))
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return parseRules(base, string(data)), nil
}

func parseRules(base, text string) []rule {
	var out []rule
	for line := range strings.SplitSeq(text, "\n") {
		if p, ok := parsePattern(line); ok {
			out = append(out, rule{base: base, pattern: p})
		}
	}
	return out
}

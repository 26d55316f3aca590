package spec

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a job file, a settings file or a
// flag. File is what the reader can touch: a file's name, or a flag. Line and
// Column count from 1; Line 0 means that there is no line to point at.
type Problem struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Path   string `json:"path,omitempty"` // as in --set: roles.worker.memory
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// Error prints the problem as train.yaml:5:5: text, with the hint on a line of
// its own.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(place{p.File, p.Line, p.Column}.prefix())
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("\n  hint: " + p.Hint)
	}
	return b.String()
}

// Problems is an error that tells everything that is wrong at once.
type Problems []Problem

// Error prints one problem after the other.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a single Problem.
func (ps Problems) Unwrap() []error {
	out := make([]error, len(ps))
	for i, p := range ps {
		out[i] = p
	}
	return out
}

// err is ps in reading order, each problem once, or nil. Several roles may
// inherit one bad value; its author wants to hear of it once.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	type seen struct {
		at         place
		text, path string
	}
	known := map[seen]bool{}
	var out Problems
	for _, p := range ps {
		k := seen{place{p.File, p.Line, p.Column}, p.Text, p.Path}
		if p.Line > 0 {
			k.path = ""
		}
		if !known[k] {
			known[k] = true
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int {
		if a.File != b.File {
			return 0 // layers keep their order
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return out
}

// place is where something was written.
type place struct {
	file         string
	line, column int
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line) + ":" + strconv.Itoa(p.column)
}

func (p place) prefix() string {
	if p.file == "" && p.line == 0 {
		return ""
	}
	return p.String() + ": "
}

func (p place) problem(path, text, hint string) Problem {
	return Problem{File: p.file, Line: p.line, Column: p.column, Path: path, Text: text, Hint: hint}
}

// faulty is the error of a value's parser: what is wrong, and what to write
// instead.
type faulty struct{ text, hint string }

func (f *faulty) Error() string {
	if f.hint == "" {
		return f.text
	}
	return f.text + " (" + f.hint + ")"
}

// split separates the text of a parser's error from its hint.
func split(err error) (text, hint string) {
	if f, ok := errors.AsType[*faulty](err); ok {
		return f.text, f.hint
	}
	return err.Error(), ""
}

package spec

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Workdir is the directory tasks run in. By default each task gets a copy of
// its own; InPlace runs tasks in the directory itself, which only backends
// whose nodes all see it accept. None sends no directory at all.
type Workdir struct {
	Path    string
	InPlace bool
	None    bool
}

// workdirForm is the long form of a workdir.
type workdirForm struct {
	Path    string `yaml:"path" json:"path" doc:"directory on the submitting machine"`
	InPlace bool   `yaml:"in_place" json:"in_place,omitempty" doc:"run in the directory itself instead of in a copy"`
}

// read takes a path, {path, in_place}, none or false.
func (w *Workdir) read(r *reader, n *node, path string) {
	*w = Workdir{}
	switch {
	case n.isBool() && n.text == "true":
		r.expected(n, path, "a directory", "write . for the directory of the job file")
	case n.kind == scalar && n.style == plain && (n.text == "none" || n.text == "false"):
		w.None = true
	case n.kind == mapping:
		var long workdirForm
		r.structure(n, reflect.ValueOf(&long).Elem(), path)
		if long.Path == "" && n.get("path") == nil {
			long.Path = "."
		}
		w.Path, w.InPlace = long.Path, long.InPlace
	case n.kind == scalar:
		r.string(n, reflect.ValueOf(&w.Path).Elem(), path)
	default:
		r.expected(n, path, "a directory", "write . for the directory of the job file")
	}
}

// MarshalJSON writes the shortest form.
func (w Workdir) MarshalJSON() ([]byte, error) {
	switch {
	case w.None:
		return []byte("false"), nil
	case w.InPlace:
		return json.Marshal(workdirForm{w.Path, true})
	}
	return json.Marshal(w.Path)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Workdir) UnmarshalJSON(b []byte) error {
	if string(b) == `""` {
		*w = Workdir{}
		return nil
	}
	return fromJSON(b, w)
}

// File is one more file for every task. Name is its name in the work
// directory, by default the last element of Source. Archive unpacks it into a
// directory of that name.
type File struct {
	Source  string
	Name    string
	Archive bool
}

// fileForm is the long form of a file, for sources that hold :: or #.
type fileForm struct {
	Source  string `yaml:"source" json:"source" doc:"file, directory or address"`
	Name    string `yaml:"name" json:"name,omitempty" doc:"name in the work directory"`
	Archive bool   `yaml:"archive" json:"archive,omitempty" doc:"unpack it"`
}

// ParseFile reads the short form: SOURCE, SOURCE::NAME, SOURCE#archive,
// SOURCE::NAME#archive, SOURCE#NAME. It is the only reader of this notation.
func ParseFile(text string) (File, error) {
	const form = "write SOURCE, SOURCE::NAME, SOURCE#archive, SOURCE::NAME#archive or SOURCE#NAME"
	if strings.HasSuffix(text, ",") {
		return File{}, &faulty{quote(text) + " ends in a comma", "files is a list: write one item a line"}
	}
	rest, tail, marked := strings.Cut(text, "#")
	source, name, named := strings.Cut(rest, "::")
	f := File{Source: source, Name: name}
	switch {
	case strings.Contains(tail, "#") || strings.Contains(name, "::"):
		return File{}, &faulty{quote(text) + " holds more than one name", form + "; a source with # or :: in its name needs {source: …, name: …}"}
	case source == "" || named && name == "" || marked && tail == "":
		return File{}, parseWhole(text, "a file", form)
	case tail == "archive":
		f.Archive = true
	case marked && named:
		return File{}, &faulty{quote(text) + " holds two names", form}
	case marked:
		f.Name = tail
	}
	return f, nil
}

// String prints the short form.
func (f File) String() string {
	s := f.Source
	if f.Name != "" {
		s += "::" + f.Name
	}
	if f.Archive {
		s += "#archive"
	}
	return s
}

func (f *File) read(r *reader, n *node, path string) {
	switch n.kind {
	case scalar:
		text, ok := r.plainText(n, path, false)
		if !ok {
			return
		}
		var err error
		if *f, err = ParseFile(text); err != nil {
			text, hint := split(err)
			r.report(n.at, path, text, hint)
		}
	case mapping:
		var long fileForm
		r.structure(n, reflect.ValueOf(&long).Elem(), path)
		if n.get("source") == nil {
			r.report(n.at, path, "has no source", "")
		}
		*f = File(long)
	default:
		r.expected(n, path, "a file", "")
	}
}

// MarshalJSON writes the short form where that says the same.
func (f File) MarshalJSON() ([]byte, error) {
	if back, err := ParseFile(f.String()); err == nil && back == f {
		return json.Marshal(f.String())
	}
	return json.Marshal(fileForm(f))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *File) UnmarshalJSON(b []byte) error { return fromJSON(b, f) }

// Python says which interpreter "python" is in a task.
type Python struct {
	Interpreter  string `yaml:"interpreter,omitempty" json:"interpreter,omitempty" doc:"path or name of the interpreter; python: PATH is short for it. With archive, where it lies in that"`
	Venv         string `yaml:"venv,omitempty" json:"venv,omitempty" doc:"directory of a virtual environment that is there on every node"`
	Requirements string `yaml:"requirements,omitempty" json:"requirements,omitempty" doc:"requirements.txt, pyproject.toml, uv.lock or pylock.toml; an environment is made of it"`
	Archive      string `yaml:"archive,omitempty" json:"archive,omitempty" doc:"packed virtual or conda environment, unpacked on each node; hdfs://… lies on the cluster already"`
	Conda        string `yaml:"conda,omitempty" json:"conda,omitempty" doc:"name or directory of a conda environment that is there on every node"`
}

// read takes the interpreter alone, or a mapping.
func (p *Python) read(r *reader, n *node, path string) {
	*p = Python{}
	if n.kind == mapping {
		r.structure(n, reflect.ValueOf(p).Elem(), path)
		return
	}
	if n.isNumber() {
		r.report(n.at, path, n.text+" is no interpreter", "write python"+n.text)
		return
	}
	r.string(n, reflect.ValueOf(&p.Interpreter).Elem(), path)
}

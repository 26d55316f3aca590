package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What uv 0.13 and pip 23 print when they install.
func TestWhatInstallersPrintIsSaidInAFewWords(t *testing.T) {
	for printed, want := range map[string]string{
		`Using Python 3.11.7 environment at: env
Resolved 12 packages in 1.20s
Downloading torch (190.2MiB)
   Building slow @ file:///x
 Downloaded torch
      Built slow @ file:///x
Prepared 12 packages in 3.10s
Installed 12 packages in 80ms
 + torch==2.1.0`: `resolved 12 packages
downloading torch (190.2MiB)
building slow @ file:///x
downloaded torch (1/12)
built slow @ file:///x (2/12)
prepared 12 packages
installed 12 packages`,
		`Looking in links: /opt/wheels
Collecting six==1.16.0 (from -r requirements.txt (line 1))
  Obtaining dependency information for six
  Downloading six-1.16.0-py2.py3-none-any.whl.metadata (1.8 kB)
  Downloading https://example.org/a/six-1.16.0-py2.py3-none-any.whl (11 kB)
Processing ./slow
  Building wheel for slow (pyproject.toml): started
Installing collected packages: six, slow
Successfully installed six-1.16.0`: `collecting six==1.16.0 (1 so far)
downloading six-1.16.0-py2.py3-none-any.whl.metadata (1.8 kB)
downloading six-1.16.0-py2.py3-none-any.whl (11 kB)
processing ./slow (2 so far)
building wheel for slow
installing 2 packages`,
	} {
		var f follow
		var got []string
		for line := range strings.SplitSeq(printed, "\n") {
			if text := f.line(line); text != "" {
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWheelsFitOrAreToldWhyNot(t *testing.T) {
	built := Interpreter{Name: "CPython", Version: "3.11.7", Tag: "cp311", Machine: "x86_64", Libc: "glibc 2.36"}
	node := func(change func(*Interpreter)) Interpreter {
		i := built
		i.Path = "/usr/bin/python3"
		change(&i)
		return i
	}
	const (
		pure = "six-1.16.0-py2.py3-none-any.whl"
		new  = "numpy-2-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
		old  = "numpy-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
		own  = "slow-1-cp311-cp311-linux_x86_64.whl"
		musl = "numpy-2-cp311-cp311-musllinux_1_2_x86_64.whl"
	)
	for name, tc := range map[string]struct {
		wheel string
		node  Interpreter
		want  string
	}{
		"the same":       {new, node(func(*Interpreter) {}), ""},
		"another patch":  {own, node(func(i *Interpreter) { i.Version = "3.11.2" }), ""},
		"an older libc":  {old, node(func(i *Interpreter) { i.Libc = "glibc 2.17" }), ""},
		"too old a libc": {new, node(func(i *Interpreter) { i.Libc = "glibc 2.17" }), new + " wants glibc 2.27, this node has 2.17"},
		"another minor": {pure, node(func(i *Interpreter) { i.Version, i.Tag = "3.9.2", "cp39" }),
			"the wheels are for CPython 3.11.7 (cp311), this node's /usr/bin/python3 is CPython 3.9.2 (cp39)"},
		"pure on another machine": {pure, node(func(i *Interpreter) { i.Machine = "aarch64" }), ""},
		"another machine":         {own, node(func(i *Interpreter) { i.Machine = "aarch64" }), own + " is for x86_64, this node's /usr/bin/python3 is for aarch64"},
		"musl there":              {old, node(func(i *Interpreter) { i.Libc = "musl" }), old + " is for glibc, this node's /usr/bin/python3 is for musl"},
		"musl here":               {musl, node(func(*Interpreter) {}), musl + " is for musl, this node's /usr/bin/python3 is for glibc 2.36"},
	} {
		m := &manifest{Interpreter: built, Wheels: []string{tc.wheel}}
		got := ""
		if err := m.fits(tc.node); err != nil {
			got = err.Error()
		}
		if tc.want == "" && got != "" || !strings.HasPrefix(got, "python: "+tc.want) && tc.want != "" {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

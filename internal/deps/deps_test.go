package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pkg is what "go list" says of a package, as far as the rules look at it.
type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string // of the package itself, tests left out
	Deps       []string // everything that is linked with it
}

// tree lists our packages. Those that do not build are listed too: the rules
// look at imports, and compiling is another test.
func tree(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if len(p.GoFiles) > 0 {
			list = append(list, p)
		}
	}
	if len(list) < 2 {
		t.Fatalf("go list found %d packages: the rules would hold for nothing", len(list))
	}
	return list
}

// breaks returns every import that a rule forbids, and why.
func breaks(list []pkg) []string {
	var out []string
	for _, p := range list {
		name := short(p.ImportPath)
		for _, i := range p.Imports {
			what := short(i)
			out = append(out, breaksDirect(name, what, own(i))...)
		}
		for _, r := range reach {
			if !match(r.who, name) {
				continue
			}
			for _, dep := range p.Deps {
				if what := short(dep); match(r.not, what) && what != name && !strings.HasPrefix(what, name+"/") && branchOf(what) != branchOf(name) {
					out = append(out, fmt.Sprintf("%s links %s: %s", name, what, r.why))
				}
			}
		}
		for _, s := range siblings {
			for _, dep := range p.Deps {
				mine, theirs := branch(s, name), branch(s, short(dep))
				if mine != "" && theirs != "" && mine != theirs {
					out = append(out, fmt.Sprintf("%s links %s: siblings never meet, the plan is all that passes between them", name, short(dep)))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// branchOf names the family that a package may link itself from: backend/local
// for backend/local/claim.
func branchOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 2 {
		return name
	}
	return parts[0] + "/" + parts[1]
}

func breaksDirect(name, what string, ours bool) []string {
	var out []string
	for _, r := range road {
		if ours && match(r.who, name) && !match(r.may, what) {
			out = append(out, fmt.Sprintf("%s imports %s: %s", name, what, r.why))
		}
	}
	for _, r := range only {
		if match(r.what, what) && !match(r.who, name) {
			out = append(out, fmt.Sprintf("%s imports %s: %s", name, what, r.why))
		}
	}
	if slices.Contains(pure, name) && match(impure, what) {
		out = append(out, fmt.Sprintf("%s imports %s: it decides, and what it decides depends on its arguments alone", name, what))
	}
	return out
}

func TestNobodyImportsWhatItMustNot(t *testing.T) {
	for _, b := range breaks(tree(t)) {
		t.Error(b)
	}
}

func TestDecisionsStartNoGoroutineAndReadNoClock(t *testing.T) {
	for _, p := range tree(t) {
		if !slices.Contains(pure, short(p.ImportPath)) {
			continue
		}
		for _, file := range p.GoFiles {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range impurities(set, f) {
				t.Error(filepath.Join(short(p.ImportPath), filepath.Base(found)))
			}
		}
	}
}

// impurities finds go statements and clocks.
func impurities(set *token.FileSet, f *ast.File) []string {
	clock := "" // what the file calls package time
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && path == "time" {
			clock = "time"
			if i.Name != nil {
				clock = i.Name.Name
			}
		}
	}
	var out []string
	report := func(n ast.Node, what string) {
		out = append(out, fmt.Sprintf("%s: %s", set.Position(n.Pos()), what))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "starts a goroutine: decisions are made in the caller's")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clock != "" && x.Name == clock && clocks[n.Sel.Name] {
				report(n, "time."+n.Sel.Name+": time comes in as an argument")
			}
		}
		return true
	})
	return out
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range tree(t) {
		name := short(p.ImportPath)
		generated := !slices.ContainsFunc(p.GoFiles, func(f string) bool { return !strings.HasSuffix(f, ".pb.go") })
		if p.Doc == "" && !generated {
			t.Errorf("%s: no doc comment: say what comes in and what goes out", name)
		}
	}
}

// The rules are seen to bite: each planted import is found, and nothing else.
func TestThePlantedBreaksAreFound(t *testing.T) {
	ours := func(names ...string) []string {
		for i, n := range names {
			if strings.HasPrefix(n, "./") {
				names[i] = module + n[1:]
			}
		}
		return names
	}
	list := []pkg{
		{ImportPath: module + "/spec", Imports: ours("./plan", "fmt", "os", "time")},
		{ImportPath: module + "/session", Imports: ours("./event", "./plan", "net/http", "math/rand/v2")},
		{ImportPath: module + "/plan", Imports: ours("./spec", "path")},
		{ImportPath: module + "/framework/pytorch", Imports: ours("./framework", "./plan"), Deps: ours("./framework", "./framework/plain", "./backend")},
		{ImportPath: module + "/backend/local", Imports: ours("./backend", "./backend/local/claim", "net/http"),
			Deps: ours("./backend", "./backend/local/claim", "./backend/yarn", "./framework", "net/http")},
		{ImportPath: module + "/backend/local/claim", Imports: ours("os"), Deps: ours("os")},
		{ImportPath: module + "/cmd/executor", Imports: ours("./executor"), Deps: ours("./executor", "net/http", "./framework/plain")},
		{ImportPath: module + "/server", Imports: ours("github.com/spf13/cobra", "k8s.io/client-go/rest", "net/http", "./backend/local")},
		{ImportPath: module + "/cli", Imports: ours("github.com/spf13/cobra", "./framework/plain", "./backend/local")},
	}
	var got []string
	for _, b := range breaks(list) {
		what, _, _ := strings.Cut(b, ":")
		got = append(got, what)
	}
	want := []string{
		"backend/local links backend/yarn",
		"backend/local links framework",
		"cmd/executor links framework/plain",
		"cmd/executor links net/http",
		"framework/pytorch links backend",
		"framework/pytorch links framework/plain",
		"server imports github.com/spf13/cobra",
		"server imports k8s.io/client-go/rest",
		"session imports math/rand/v2",
		"session imports net/http",
		"spec imports os",
		"spec imports plan",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPlantedImpuritiesAreFound(t *testing.T) {
	src := `package p
import clock "time"
type T struct{ at clock.Time }
func f(time struct{ Now int }) { go f(time); _ = clock.Now(); _ = time.Now; <-clock.After(clock.Second) }
`
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"p.go:4:34: starts a goroutine: decisions are made in the caller's",
		"p.go:4:50: time.Now: time comes in as an argument",
		"p.go:4:79: time.After: time comes in as an argument",
	}
	if d := cmp.Diff(want, impurities(set, f)); d != "" {
		t.Error(d)
	}
}

//go:build frameworks

package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests install packages from an index, as users do. What needs none is
// tested without the tag.

func TestEachInstallerMakesAnEnvironmentWhoseScriptsRun(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{
		"requirements.txt": "-r more/base.txt  # what everybody has\n-c limits.txt\ncowsay\n",
		"more/base.txt":    "six==1.16.0\n",
		"limits.txt":       "cowsay==6.0\n",
	})
	for name, environ := range roads(t) {
		t.Run(name, func(t *testing.T) {
			s, h := newShelf(t, environ)
			env, err := s.Build(t.Context(), read(t, dir, "requirements.txt", i), i)
			if err != nil {
				t.Fatal(err)
			}
			if got := version(t, env, "six") + " " + version(t, env, "cowsay"); got != "1.16.0 6.0" {
				t.Errorf("versions %s", got)
			}
			if got := says(t, filepath.Join(env, "bin", "cowsay"), "-t", "moo"); !strings.Contains(got, "moo") {
				t.Errorf("cowsay says %s", got)
			}
			if !strings.HasPrefix(h.String(), "makes an environment of requirements.txt (2 requirements) with "+name+" for "+i.Name) {
				t.Errorf("told: %s", h)
			}
			if p := strings.Join(h.passed(), "\n"); !strings.Contains(p, "2 packages") {
				t.Errorf("passing:\n%s", p)
			}
			// The second time nothing is installed.
			before := len(h.steps)
			again, err := s.Build(t.Context(), read(t, dir, "requirements.txt", i), i)
			if err != nil || again != env || len(h.steps) != before {
				t.Errorf("%s %v, told %v", again, err, h.steps[before:])
			}
		})
	}
}

func TestANodeMakesItsEnvironmentOfWheelsWithoutAnIndex(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{
		"requirements.txt":    "cowsay==6.0\n-e ./mine\n",
		"mine/pyproject.toml": inTree,
		"mine/backend.py":     zipper,
		"mine/mine.py":        "x = 1\n",
	})
	s, h := newShelf(t, os.Environ())
	pack, err := s.Wheels(t.Context(), read(t, dir, "requirements.txt", i), i)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.String(), "2 wheels gathered in ") || !strings.Contains(h.String(), "./mine: is installed as it is now") && !strings.Contains(h.String(), "mine: is installed as it is now") {
		t.Errorf("told: %s", h)
	}
	told := len(h.steps)
	if again, err := s.Wheels(t.Context(), read(t, dir, "requirements.txt", i), i); err != nil || again != pack || len(h.steps) != told {
		t.Errorf("the second time: %s, %v, told %v", again, err, h.steps[told:])
	}

	// A node that reaches nothing.
	cut := set(without(t, os.Environ(), "python3"), "PIP_INDEX_URL=http://127.0.0.1:1/", "PIP_FIND_LINKS=/nowhere", "HTTPS_PROXY=http://127.0.0.1:1/")
	node, said := newShelf(t, cut)
	env, err := node.Install(t.Context(), "sha", i.Path, opens(pack))
	if err != nil {
		t.Fatal(err)
	}
	if got := version(t, env, "cowsay") + " " + version(t, env, "mine"); got != "6.0 1.5" {
		t.Errorf("versions %s", got)
	}
	if got := says(t, filepath.Join(env, "bin", "cowsay"), "-t", "moo"); !strings.Contains(got, "moo") {
		t.Errorf("cowsay says %s", got)
	}
	if !strings.Contains(said.String(), "2 wheels installed in ") {
		t.Errorf("told: %s", said)
	}
	held, err := Hold(env)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

func TestALockOfEveryKindIsInstalledAsItSays(t *testing.T) {
	t.Parallel()
	i := here(t)
	dir := files(t, t.TempDir(), map[string]string{
		"pyproject.toml": "[project]\nname = \"p\"\nversion = \"1\"\nrequires-python = \">=3.8\"\ndependencies = [\"six==1.16.0\"]\n\n[dependency-groups]\ndev = [\"idna\"]\n",
		"pylock.toml": "lock-version = \"1.0\"\ncreated-by = \"hand\"\n\n[[packages]]\nname = \"six\"\nversion = \"1.15.0\"\n\n" +
			"[[packages]]\nname = \"idna\"\nversion = \"3.4\"\nmarker = \"python_version < '3'\"\n",
		"pylock.bad.toml":        "lock-version = \"2.0\"\n",
		"dynamic/pyproject.toml": "[project]\nname = \"p\"\ndynamic = [\"version\", \"dependencies\"]\n",
		"sources/pyproject.toml": "[project]\nname = \"p\"\ndependencies = [\"x\"]\n[tool.uv.sources]\nx = {path = \"../x\"}\n",
		"poetry/pyproject.toml":  "[tool.poetry]\nname = \"p\"\n",
		"empty/pyproject.toml":   "[build-system]\nrequires = []\n",
		"broken/pyproject.toml":  "[project\n",
	})
	program := uv(t.Context(), os.Environ())
	if _, err := output(t.Context(), os.Environ(), program, "lock", "--project", dir); err != nil {
		t.Fatalf("uv lock: %v", err)
	}
	for name, want := range map[string]string{"pyproject.toml": "1.16.0", "uv.lock": "1.16.0", "pylock.toml": "1.15.0"} {
		for road, environ := range roads(t) {
			if name == "uv.lock" && road == "pip" {
				_, err := Read(t.Context(), filepath.Join(dir, name), i, environ)
				if err == nil || !strings.Contains(err.Error(), "only uv reads it") {
					t.Errorf("without uv: %v", err)
				}
				continue
			}
			t.Run(name+" "+road, func(t *testing.T) {
				s, _ := newShelf(t, environ)
				env, err := s.Build(t.Context(), read(t, dir, name, i), i)
				if err != nil {
					t.Fatal(err)
				}
				if got := version(t, env, "six"); got != want {
					t.Errorf("six %s, want %s", got, want)
				}
				if exists(filepath.Join(env, "lib", "python"+i.Version[:strings.LastIndexByte(i.Version, '.')], "site-packages", "idna")) {
					t.Error("idna is installed, which nobody chose")
				}
			})
		}
	}
	for name, want := range map[string]string{
		"pylock.bad.toml":        `lock-version "2.0": only 1.x is known`,
		"dynamic/pyproject.toml": "its dependencies are worked out when it is built\nhint: a requirements.txt",
		"sources/pyproject.toml": "[tool.uv] says where its dependencies come from, which uv alone understands\nhint: uv lock",
		"poetry/pyproject.toml":  "its dependencies are poetry's own\nhint: poetry export",
		"empty/pyproject.toml":   "has no [project]\nhint: ",
		"broken/pyproject.toml":  "cannot be read by " + i.Path,
	} {
		_, err := Read(t.Context(), filepath.Join(dir, name), i, os.Environ())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

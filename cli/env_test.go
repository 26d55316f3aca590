package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testEnv is an Env with nothing in it but a directory.
func testEnv(t *testing.T, environ ...string) *Env {
	t.Helper()
	return &Env{Args: []string{"muster"}, Environ: environ, Dir: t.TempDir(), Stdin: strings.NewReader(""),
		Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Now: func() time.Time { return time.Unix(1000, 0).UTC() }}
}

func TestPaths(t *testing.T) {
	tests := map[string]struct {
		environ []string
		want    Paths
	}{
		"HOME alone": {
			[]string{"HOME=/home/ada"},
			Paths{State: "/home/ada/.local/state/muster", User: "/home/ada/.config/muster/config.yaml", Site: "/etc/muster/site.yaml",
				Socket: "/home/ada/.local/state/muster/serve.sock"},
		},
		"XDG directories, a relative one counts as unset": {
			[]string{"HOME=/home/ada", "XDG_STATE_HOME=/s", "XDG_CONFIG_HOME=relative"},
			Paths{State: "/s/muster", User: "/home/ada/.config/muster/config.yaml", Site: "/etc/muster/site.yaml", Socket: "/s/muster/serve.sock"},
		},
		"MUSTER_HOME wins": {
			[]string{"HOME=/home/ada", "XDG_STATE_HOME=/s", "MUSTER_HOME=/m"},
			Paths{State: "/m", User: "/m/config.yaml", Site: "/etc/muster/site.yaml", Socket: "/m/serve.sock"},
		},
		"each by itself": {
			[]string{"MUSTER_HOME=/m", "MUSTER_SOCKET=/tmp/x.sock", "MUSTER_SITE=/site.yaml", "MUSTER_CLAIMS=/c"},
			Paths{State: "/m", User: "/m/config.yaml", Site: "/site.yaml", Socket: "/tmp/x.sock", Claims: "/c"},
		},
		"the last of two counts": {
			[]string{"MUSTER_HOME=/old", "MUSTER_HOME=/m", "MUSTER_SITE="},
			Paths{State: "/m", User: "/m/config.yaml", Socket: "/m/serve.sock"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := testEnv(t, tc.environ...).Paths()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPathsWithoutAnyHomeSaysWhatToSet(t *testing.T) {
	e := testEnv(t)
	if got := e.report(errOf(e.Paths())); got != exitRefused {
		t.Errorf("exit status %d, want %d", got, exitRefused)
	}
	want := "muster: HOME: not set, and neither are MUSTER_HOME and XDG_STATE_HOME\nhint: set MUSTER_HOME to a directory for muster's state\n"
	if got := e.Stderr.(*bytes.Buffer).String(); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func errOf(_ Paths, err error) error { return err }

func TestRelativeHomeStartsAtTheWorkingDirectory(t *testing.T) {
	e := testEnv(t, "MUSTER_HOME=state")
	p, err := e.Paths()
	if err != nil || p.State != filepath.Join(e.Dir, "state") {
		t.Errorf("got %q, %v", p.State, err)
	}
}

func TestHomeShortensPaths(t *testing.T) {
	e := testEnv(t, "HOME=/home/ada")
	for path, want := range map[string]string{"/home/ada/x": "~/x", "/home/adam": "/home/adam", "/srv": "/srv", "/home/ada": "~"} {
		if got := e.home(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

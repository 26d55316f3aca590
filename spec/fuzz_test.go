package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Decode never panics, and what it accepts is read back from its own output.
func FuzzDecode(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.yaml")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		job, err := Decode("fuzz", data)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a word")
			}
			resolveUnderFlags(data)
			return
		}
		text, err := YAML(job)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode("again", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		// An empty mapping and none are one thing to JSON.
		a, _ := json.Marshal(job)
		b, _ := json.Marshal(again)
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
		resolveUnderFlags(data)
	})
}

// resolveUnderFlags takes the road of "muster run FILE --set …".
func resolveUnderFlags(data []byte) {
	s := stack(siteFile, userFile, string(data), "roles.worker.cpus=2", "instances=2", "files.0=x", "timeout.run=1h", "env.A=1")
	_, _ = s.Resolve("alice")
}

// Files that would cost a naive reader its stack or minutes are refused soon.
func TestHostileFilesAreRefusedSoon(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":          strings.Repeat("[", 1<<17),
		"braces":            strings.Repeat("{a: ", 1<<15),
		"dashes":            strings.Repeat("- ", 1<<16),
		"brackets on lines": strings.Repeat("[\n", 1<<16),
		"question marks":    strings.Repeat("? ", 1<<16),
		"anchors":           "a: " + strings.Repeat("&a ", 1<<16),
		"tags":              "a: " + strings.Repeat("!!str ", 1<<15),
		"deep indents":      stairs(500),
		"long":              strings.Repeat("x", 2<<20),
		"many keys":         strings.Repeat("a: 1\n", 50_000),
		"one long line":     "command: " + strings.Repeat("x ", 1<<16) + "\nx: 1",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := Decode("hostile", []byte(text)); err == nil {
				t.Error("accepted")
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

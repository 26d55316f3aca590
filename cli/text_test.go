package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableAlignsWideLetters(t *testing.T) {
	var b bytes.Buffer
	err := table(&b, []string{"NAME", "STATE"}, [][]string{{"实验", "running"}, {"é́", "ok"}, {"a", ""}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME  STATE\n实验  running\né́     ok\na\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCut(t *testing.T) {
	tests := map[string]struct {
		text string
		n    int
		want string
	}{
		"fits":                       {"abc", 3, "abc"},
		"too long":                   {"abcdef", 4, "abc…"},
		"a wide letter is not split": {"ab実x", 4, "ab…"},
		"no room":                    {"abc", 1, "…"},
	}
	for name, tc := range tests {
		if got := cut(tc.text, tc.n); got != tc.want || width(got) > tc.n {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 850 * time.Millisecond: "850ms", 12 * time.Second: "12s", 185 * time.Second: "3m05s",
		130 * time.Minute: "2h10m", 122 * time.Hour: "5d02h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 1536: "1.5KiB", 4 << 30: "4GiB", 1 << 62: "4EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestQuotedIsWhatAShellReads(t *testing.T) {
	got := quoted([]string{"python", "a b", "it's", "", "--x=1", "$HOME", "é"})
	want := `python 'a b' 'it'\''s' '' --x=1 '$HOME' é`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

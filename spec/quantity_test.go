package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0B": 0, "1B": 1, "1000B": 1000, "1K": 1 << 10, "1k": 1 << 10, "1KiB": 1 << 10,
		"512MiB": 512 << 20, "4G": 4 << 30, "4g": 4 << 30, "4GiB": 4 << 30, "4gib": 4 << 30, "4 GiB": 4 << 30, " 4GiB ": 4 << 30,
		"1.5GiB": 1536 << 20, ".5G": 512 << 20, "0.1B": 0, "2T": 2 << 40, "1P": 1 << 50, "8191PiB": 8191 << 50,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":         "is empty",
		"4":        "write 4GiB, 4MiB or 4B",
		"4096":     "write 4096MiB or 4096B",
		"1.5":      "has no unit",
		"4GB":      "write 4GiB",
		"4gb":      "power of 1000",
		"4X":       "units are B, KiB",
		"4GiBB":    "unit",
		"GiB":      "is not a size",
		"-4GiB":    "is not a size",
		"1e3G":     "is not a size",
		"4GiB 1":   "is not a size",
		"8192PiB":  "more than any machine has",
		"4\u00a0G": "is not a size",
	} {
		if _, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%q): %v; want %q in it", text, err, want)
		}
	}
}

func TestSizesForPeople(t *testing.T) {
	for n, want := range map[Size]string{
		0: "0B", 1023: "1023B", 1024: "1KiB", 1536 << 10: "1.5MiB", 24683656 << 10: "23.54GiB", 4 << 30: "4GiB", 1<<40 - 1: "1024GiB", 5 << 40: "5TiB",
	} {
		if got := n.Rough(); got != want {
			t.Errorf("%d: %s, want %s", int64(n), got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "1h 30m": 90 * time.Minute,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute, ".5s": 500 * time.Millisecond,
		"250ms": 250 * time.Millisecond, "3us": 3 * time.Microsecond, "3µs": 3 * time.Microsecond, "7ns": 7, "1s5ms": 1005 * time.Millisecond,
		"1-12:00:00": 36 * time.Hour, "12:00:00": 12 * time.Hour, "0:01:30": 90 * time.Second, "100:00:00": 100 * time.Hour,
		"2-06:30": 54*time.Hour + 30*time.Minute,
	} {
		got, err := ParseDuration(text)
		if err != nil || time.Duration(got) != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is empty",
		"30":                    "write 30m or 30s",
		"1.5":                   "has no unit",
		"0":                     "write 0s",
		"-5":                    "cannot be negative",
		"1:30":                  "write 0:01:30 or 1:30:00",
		"1:90:00":               "up to 59",
		"1-24:00:00":            "hours after a day up to 23",
		"5M":                    "write 5m",
		"2 hours":               "write 2 h",
		"3w":                    "units are d, h, m, s",
		"30s1m":                 "largest unit first",
		"1h1h":                  "each once",
		"-5s":                   "is not a time",
		"1-12":                  "is not a time",
		"1e3s":                  `unit "e" is unknown`,
		"300000000h":            "longer than",
		"99999999999999999999h": "longer than",
		"106751d24h":            "longer than",
	} {
		if _, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDuration(%q): %v; want %q in it", text, err, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]Count{
		"4": {4, 4}, "3..4": {3, 4}, "3 .. 4": {3, 4}, "96..100": {96, 100}, "4..4": {4, 4}, "0": {},
	} {
		got, err := ParseCount(text)
		if err != nil || got != want {
			t.Errorf("ParseCount(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", "-1": "cannot be negative", "3-4": "write a range as 3..4", "3:4": "write a range as 3..4", "3...4": "write a range as 3..4",
		"4..3": "write 3..4", "0..4": "write 1..4", "1.5": "is not a number of tasks", "99999999999": "is not a number of tasks", "3..": "is not a number of tasks",
	} {
		if _, err := ParseCount(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCount(%q): %v; want %q in it", text, err, want)
		}
	}
}

func TestParseFailures(t *testing.T) {
	for text, want := range map[string]Failures{"2": {Count: 2}, "10%": {Percent: 10}, "10 %": {Percent: 10}, "100%": {Percent: 100}} {
		got, err := ParseFailures(text)
		if err != nil || got != want {
			t.Errorf("ParseFailures(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "101%", "x", "1.5%", "%"} {
		if got, err := ParseFailures(text); err == nil {
			t.Errorf("ParseFailures(%q) = %v", text, got)
		}
	}
}

// F-026: one reader for the notation, and every form of it.
func TestF026FileNotation(t *testing.T) {
	for text, want := range map[string]File{
		"a.txt":                      {Source: "a.txt"},
		"a.txt::b.txt":               {Source: "a.txt", Name: "b.txt"},
		"a.zip#archive":              {Source: "a.zip", Archive: true},
		"a.zip::b#archive":           {Source: "a.zip", Name: "b", Archive: true},
		"a.zip#b":                    {Source: "a.zip", Name: "b"},
		"hdfs:///d/x.zip#d":          {Source: "hdfs:///d/x.zip", Name: "d"},
		"hdfs://h:8020/x::y#archive": {Source: "hdfs://h:8020/x", Name: "y", Archive: true},
		"a b.txt::c d":               {Source: "a b.txt", Name: "c d"},
	} {
		got, err := ParseFile(text)
		if err != nil || got != want {
			t.Errorf("ParseFile(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestWhatIsPrintedIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size(rapid.Int64Min(0).Draw(t, "size"))
		if got, err := ParseSize(size.String()); err != nil || got != size {
			t.Errorf("%v is read as %v: %v", size, got, err)
		}
		span := Duration(rapid.Int64Min(0).Draw(t, "duration"))
		if got, err := ParseDuration(span.String()); err != nil || got != span {
			t.Errorf("%v is read as %v: %v", span, got, err)
		}
		low := rapid.IntRange(1, 1000).Draw(t, "low")
		count := Count{low, rapid.IntRange(low, 1001).Draw(t, "high")}
		if got, err := ParseCount(count.String()); err != nil || got != count {
			t.Errorf("%v is read as %v: %v", count, got, err)
		}
	})
}

// Any file and any environment value survives JSON and YAML.
func TestAnyTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Job{
			Files: []File{{Source: rapid.String().Draw(t, "source") + "x", Name: rapid.String().Draw(t, "name"), Archive: rapid.Bool().Draw(t, "archive")}},
			Role:  Role{Env: map[string]EnvValue{"A": {rapid.String().Draw(t, "value"), rapid.Bool().Draw(t, "expand")}}, Command: Command{Argv: []string{"x", rapid.String().Draw(t, "argument")}}},
			Roles: Roles{{Name: "a"}},
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Job
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		text, err := YAML(want)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode("", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(&want, again); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
	})
}

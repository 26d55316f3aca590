package event

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-project/muster/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestEveryTypeComesBackAsItWas(t *testing.T) {
	for _, e := range samples() {
		t.Run(e.Body.Type(), func(t *testing.T) {
			line, err := Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.ContainsAny(line, "\n\r") {
				t.Errorf("the line is more than one: %q", line)
			}
			got, err := Unmarshal(line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The lines of old journals must stay readable: a change of this file is a
// change of the stored format. Fields may be added; nothing else may happen.
func TestTheStoredFormatHasNotChanged(t *testing.T) {
	golden := filepath.Join("testdata", "events.jsonl")
	var got bytes.Buffer
	for _, e := range samples() {
		line, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("-want +got (rewrite with -update if only fields were added):\n%s", diff)
	}
}

func TestTextIsOneLineForEveryType(t *testing.T) {
	golden := filepath.Join("testdata", "events.txt")
	var got strings.Builder
	for _, e := range samples() {
		got.WriteString(Text(e) + "\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTextNeverBreaksTheLineNorTheTerminal(t *testing.T) {
	got := Text(Event{Body: &StopRequested{By: "é実e\u0301🙂", Reason: "a\nb\x1b[31m\tc\u009b"}})
	want := "stop asked for by é実e\u0301🙂: a b[31m c"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Hints come on lines of their own behind what is wrong; an event's one line
// leaves them to the verdict.
func TestWhatAnExitSaid(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                            {"", ""},
		"x: gone":                     {"x: gone", ""},
		"x: gone\nhint: bring it":     {"x: gone", "bring it"},
		"x: gone\nhint: a\nhint: b":   {"x: gone", "a\nb"},
		"two lines\nof what is wrong": {"two lines\nof what is wrong", ""},
	} {
		x := Exit{Class: ClassStart, Status: 126, Text: text}
		if got, hint := x.Said(); got != want[0] || hint != want[1] {
			t.Errorf("%q: %q and %q, want %q", text, got, hint, want)
		}
	}
	e := Event{Body: &TaskExited{Task: plan.TaskID{Role: "a"}, Exit: Exit{Class: ClassStart, Status: 126, Text: "x: gone\nhint: bring it"}}}
	if got, want := Text(e), "a/0 ended (did-not-start), status 126: x: gone"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnUnknownTypeIsKeptUnchanged(t *testing.T) {
	line := `{"v":1,"seq":7,"term":2,"at":"2026-11-30T10:00:00.000000001Z","type":"task.dreamt","data":{"z":1,"a":[1.50,"<é\u2028>"]}}`
	e, err := Unmarshal([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := &Unknown{Name: "task.dreamt", Data: []byte(`{"z":1,"a":[1.50,"<é\u2028>"]}`)}
	if diff := cmp.Diff(want, e.Body); diff != "" {
		t.Error(diff)
	}
	again, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != line {
		t.Errorf("got  %s\nwant %s", again, line)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"a newer format":                  {`{"v":2,"seq":1,"type":"task.ready","data":{}}`, "event format 2: written by a newer muster: this one reads up to 1"},
		"a newer format of another shape": {`{"v":3,"seq":"one"}`, "event format 3: written by a newer muster: this one reads up to 1"},
		"no version":                      {`{"seq":1,"type":"task.ready","data":{}}`, "not an event: v is 0"},
		"no type":                         {`{"v":1,"seq":1,"data":{}}`, "not an event: it has no type"},
		"no data":                         {`{"v":1,"seq":4,"type":"task.ready"}`, "event 4: cannot read task.ready: data is not an object"},
		"null data":                       {`{"v":1,"seq":4,"type":"job.submitted","data":null}`, "event 4: cannot read job.submitted: data is not an object"},
		"a task that is none":             {`{"v":1,"seq":4,"type":"task.ready","data":{"task":"worker"}}`, "event 4: cannot read task.ready: worker: not a task"},
		"a year without spelling":         {`{"v":1,"seq":4,"at":"0000-01-01T00:00:00+23:00","type":"x","data":{}}`, "event 4: cannot read its time: the year is -1"},
		"a cut line":                      {`{"v":1,"seq":4,"type":"task.re`, "not an event: unexpected end"},
		"two lines":                       {"{\"v\":1}\n{\"v\":1}", "not an event: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unmarshal([]byte(tc.line))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if newer := strings.Contains(tc.want, "newer"); errors.Is(err, ErrVersion) != newer {
				t.Errorf("errors.Is(%v, ErrVersion) is %t", err, !newer)
			}
		})
	}
}

func TestMarshalRefusesAnEventWithoutBody(t *testing.T) {
	if _, err := Marshal(Event{Seq: 3}); err == nil || err.Error() != "event 3: has no body" {
		t.Errorf("got %v", err)
	}
}

func TestNoTaskIsNotATask(t *testing.T) {
	e := Event{Seq: 1, Term: 1, At: time.Unix(0, 0).UTC(), Body: &RestartDecided{Scope: "job"}}
	line, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(line)
	if diff := cmp.Diff(e, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A training that diverges reports NaN; the journal must be able to say so.
func TestProgressKeepsNumbersThatJSONHasNoWordFor(t *testing.T) {
	want := Progress{Step: 3, Values: map[string]float64{"loss": math.NaN(), "up": math.Inf(1), "down": math.Inf(-1), "x": 0.1}}
	e := Event{Body: &ProgressReported{Tasks: tasksOf("worker/0", want)}}
	line, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(line)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Body, got.Body, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// A journal that cannot be written holds up its whole job.
func TestATimeOfAStepThatIsNoNumberIsLeftOut(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		line, err := Marshal(Event{Body: &ProgressReported{Tasks: tasksOf("worker/0", Progress{Step: 3, StepTime: v})}})
		if err != nil || strings.Contains(string(line), "step_time") {
			t.Errorf("%v: %s, %v", v, line, err)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, e := range samples() {
		line, err := Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
		f.Add(line[:len(line)/2])
	}
	f.Add([]byte(`{"v":1,"type":"x","data":"\ud800"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := Unmarshal(in)
		if err != nil {
			return
		}
		_ = Text(e)
		line, err := Marshal(e)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Unmarshal(line)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, line)
		}
		if second, err := Marshal(again); err != nil || !bytes.Equal(line, second) {
			t.Fatalf("not stable: %v\n%s\n%s", err, line, second)
		}
	})
}

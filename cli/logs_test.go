package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// writeLog makes a log with an index, one line at each given second.
func writeLog(t *testing.T, job string, id plan.TaskID, name string, seconds ...int) {
	t.Helper()
	dir := logDir(job, id, 1)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	var text, index []byte
	for _, s := range seconds {
		index = appendRecord(index, int64(len(text)), time.Unix(int64(s), 0).UnixNano())
		text = fmt.Appendf(text, "%s at %d\n", id, s)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".idx", index, 0o666); err != nil {
		t.Fatal(err)
	}
}

func worker(n int) plan.TaskID { return plan.TaskID{Role: "worker", Index: n} }

func merged(t *testing.T, m *logMerge, most int, rest bool) (lines []string, atEnd bool) {
	t.Helper()
	atEnd, err := m.pump(most, rest, func(l *logLine) error {
		lines = append(lines, l.Text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, atEnd
}

func TestLogsAreMergedByTime(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, dir, worker(0), "0.out", 1, 4, 5)
	writeLog(t, dir, worker(0), "0.err", 3)
	writeLog(t, dir, worker(1), "0.out", 2, 4, 6)
	m := &logMerge{}
	defer m.close()
	for n := range 2 {
		if err := m.open(dir, worker(n), 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := merged(t, m, -1, true)
	want := []string{"worker/0 at 1", "worker/1 at 2", "worker/0 at 3", "worker/0 at 4", "worker/1 at 4", "worker/0 at 5", "worker/1 at 6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPumpIsBoundedAndLosesNothing(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, dir, worker(0), "0.out", 1, 2, 3, 4, 5)
	m := &logMerge{}
	defer m.close()
	if err := m.open(dir, worker(0), 1, 1); err != nil {
		t.Fatal(err)
	}
	var all []string
	for range 10 {
		lines, atEnd := merged(t, m, 2, true)
		if len(lines) > 2 {
			t.Fatalf("%d lines in one pump of 2", len(lines))
		}
		all = append(all, lines...)
		if atEnd {
			break
		}
	}
	want := []string{"worker/0 at 1", "worker/0 at 2", "worker/0 at 3", "worker/0 at 4", "worker/0 at 5"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestALineWithoutAnEndComesWhenItEnds(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, dir, worker(0), "0.out")
	path := filepath.Join(logDir(dir, worker(0), 1), "0.out")
	add := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	m := &logMerge{}
	defer m.close()
	if err := m.open(dir, worker(0), 1, 1); err != nil {
		t.Fatal(err)
	}
	add("half")
	if got, _ := merged(t, m, -1, false); len(got) != 0 {
		t.Errorf("got %q before the line has ended", got)
	}
	add(" and half\nlast")
	if got, _ := merged(t, m, -1, false); !cmp.Equal(got, []string{"half and half"}) {
		t.Errorf("got %q", got)
	}
	if got, _ := merged(t, m, -1, true); !cmp.Equal(got, []string{"last"}) {
		t.Errorf("got %q, want the rest at the end", got)
	}
	if got, _ := merged(t, m, -1, true); len(got) != 0 {
		t.Errorf("got %q twice", got)
	}
}

func TestLogFilter(t *testing.T) {
	dir := t.TempDir()
	writeLog(t, dir, worker(0), "0.out", 10, 20, 30)
	writeLog(t, dir, worker(0), "0.err", 15)
	writeLog(t, dir, worker(1), "0.out", 12)
	tests := map[string]struct {
		filter logFilter
		want   []string
	}{
		"one task":   {logFilter{tasks: []plan.TaskID{worker(1)}}, []string{"worker/1 at 12"}},
		"one stream": {logFilter{stream: "err"}, []string{"worker/0 at 15"}},
		"since":      {logFilter{since: time.Unix(15, 0)}, []string{"worker/0 at 15", "worker/0 at 20", "worker/0 at 30"}},
		"pattern":    {logFilter{grep: regexp.MustCompile(`[13]0$`)}, []string{"worker/0 at 10", "worker/0 at 30"}},
		"no start":   {logFilter{incarnation: 2}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &logMerge{filter: tc.filter}
			defer m.close()
			for n := range 2 {
				if err := m.open(dir, worker(n), 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			got, _ := merged(t, m, -1, true)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPainter(t *testing.T) {
	p := &plan.Plan{Roles: []plan.Role{
		{Name: "ps", Instances: spec.Count{Min: 1, Max: 1}, Procs: 1},
		{Name: "worker", Instances: spec.Count{Min: 4, Max: 12}, Procs: 2},
	}}
	plain := newPainter(p, false)
	for want, line := range map[string]logLine{
		"ps/0        | x": {Task: plan.TaskID{Role: "ps"}, Text: "x"},
		"worker/11.1 | x": {Task: worker(11), Proc: 1, Text: "x"},
		"worker/3.0  |":   {Task: worker(3)},
	} {
		if got := plain.line(&line); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	colored := newPainter(p, true)
	first, again := colored.line(&logLine{Task: worker(0)}), colored.line(&logLine{Task: worker(0)})
	other := colored.line(&logLine{Task: worker(1)})
	if first != again || first[:5] == other[:5] {
		t.Errorf("colours do not follow tasks: %q %q %q", first, again, other)
	}
}

func TestSinceTime(t *testing.T) {
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"10m":                  now.Add(-10 * time.Minute),
		"2h":                   now.Add(-2 * time.Hour),
		"2026-11-30T17:00:00Z": time.Date(2026, 11, 30, 17, 0, 0, 0, time.UTC),
		"2026-11-29 08:30":     time.Date(2026, 11, 29, 8, 30, 0, 0, time.UTC),
		"2026-11-29":           time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC),
		"09:15":                time.Date(2026, 11, 30, 9, 15, 0, 0, time.UTC),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := sinceTime("noon", now); codeOf(err) != exitUsage {
		t.Errorf("noon: got %v, want a usage error", err)
	}
}

// appendRecord is a record of a log's index, as capture's package comment states it.
func appendRecord(index []byte, offset, at int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(index, uint64(offset)), uint64(at))
}

// writes counts what reaches a stream.
type writes struct {
	bytes.Buffer
	n int
}

func (w *writes) Write(b []byte) (int, error) {
	w.n++
	return w.Buffer.Write(b)
}

// A system call for each line takes longer than the line.
func TestLinesAreWrittenTogetherAndNoStreamOvertakesTheOther(t *testing.T) {
	var w writes
	e := testEnv(t)
	e.Stderr = &w
	l := &logShow{env: e, plain: true, out: bufio.NewWriter(&w)}
	for _, line := range []logLine{{Text: "a"}, {Text: "b"}, {Text: "c", Stderr: true}, {Text: "d"}, {Text: "e"}} {
		if err := l.print(&line); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.out.Flush(); err != nil || w.String() != "a\nb\nc\nd\ne\n" || w.n != 3 {
		t.Errorf("%d writes: %q, %v", w.n, w.String(), err)
	}
}

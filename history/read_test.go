package history

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
)

const (
	open1 = `{"v":1,"seq":1,"term":1,"at":"2026-11-30T12:00:00Z","type":"term.opened","data":{"term":1,"previous":0,"adopted":0,"node":"n","pid":1}}` + "\n"
	// of a second and third term that continue the first after two events
	open2 = `{"v":1,"seq":3,"term":2,"at":"2026-11-30T12:00:00Z","type":"term.opened","data":{"term":2,"previous":1,"adopted":2,"node":"n","pid":1}}` + "\n"
	open3 = `{"v":1,"seq":3,"term":3,"at":"2026-11-30T12:00:00Z","type":"term.opened","data":{"term":3,"previous":1,"adopted":2,"node":"n","pid":1}}` + "\n"
)

// line is the line of one event of the tests.
func line(seq, term int64, value string, more bool) string {
	e := said(value)[0]
	e.Seq, e.Term = seq, term
	b, err := event.Marshal(e)
	if err != nil {
		panic(err)
	}
	if more {
		b = append(b[:len(b)-1], open...)
	}
	return string(b) + "\n"
}

func TestReadSkipsWhatWasTorn(t *testing.T) {
	old := longest
	longest = 100 << 10
	t.Cleanup(func() { longest = old })
	a, b, c := line(2, 1, "a", false), line(3, 1, "b", false), line(4, 1, "c", false)
	b1, b2 := line(3, 1, "b1", true), line(4, 1, "b2", false)
	for name, tc := range map[string]struct {
		lines string
		want  []string
	}{
		"a torn last line":                   {a + b[:40], []string{"2 t1 a"}},
		"a last line without its line feed":  {a + strings.TrimSuffix(b, "\n"), []string{"2 t1 a"}},
		"a torn line that is repeated":       {a + b[:40] + "\n" + b + c, []string{"2 t1 a", "3 t1 b", "4 t1 c"}},
		"a line that is there twice":         {a + b + "\n" + b + c, []string{"2 t1 a", "3 t1 b", "4 t1 c"}},
		"a batch without its end":            {a + b1, []string{"2 t1 a"}},
		"a batch torn in its second line":    {a + b1 + b2[:50] + "\n" + b1 + b2, []string{"2 t1 a", "3 t1 b1", "4 t1 b2"}},
		"a batch torn in its first line":     {a + b1[:50] + "\n" + b1 + b2, []string{"2 t1 a", "3 t1 b1", "4 t1 b2"}},
		"a batch torn twice":                 {a + b1[:50] + "\n" + b1 + b2[:9] + "\n" + b1 + b2, []string{"2 t1 a", "3 t1 b1", "4 t1 b2"}},
		"a whole batch twice":                {a + b1 + b2 + "\n" + b1 + b2, []string{"2 t1 a", "3 t1 b1", "4 t1 b2"}},
		"blanks that pad a block":            {a + strings.Repeat(" ", 300) + "\n" + b, []string{"2 t1 a", "3 t1 b"}},
		"zeros that a power cut left":        {a + strings.Repeat("\x00", 4096), []string{"2 t1 a"}},
		"zeros, and the batch repeated":      {a + strings.Repeat("\x00", 100) + "\n" + b, []string{"2 t1 a", "3 t1 b"}},
		"a line that is longer than allowed": {a + strings.Repeat("x", longest+100) + "\n" + b, []string{"2 t1 a", "3 t1 b"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			setText(t, dir, 1, open1+tc.lines)
			wantJournal(t, dir, append([]string{"1 t1 opened"}, tc.want...)...)
			// A successor sees the same, and changes nothing of it.
			j, events := reopen(t, lazy, dir)
			wantWords(t, events[:len(events)-1], append([]string{"1 t1 opened"}, tc.want...)...)
			add(t, j, said("next"))
			if text(t, dir, 1) != open1+tc.lines {
				t.Error("the old segment was changed")
			}
		})
	}
}

func TestReadTellsWhatIsWrongAndWhere(t *testing.T) {
	a, b, c := line(2, 1, "a", false), line(3, 1, "b", false), line(4, 1, "c", false)
	for name, tc := range map[string]struct {
		segments map[int64]string
		want     string
		is       error
	}{
		"a lost line":             {map[int64]string{1: open1 + a + c}, "000001.jsonl:3: event 4 comes after event 2: what was between them is lost", nil},
		"a torn line, no repeat":  {map[int64]string{1: open1 + a + b[:30] + "\n" + c}, "000001.jsonl:4: event 4 comes after event 2: what was between them is lost", nil},
		"a newer format":          {map[int64]string{1: open1 + a + `{"v":2}` + "\n" + b}, "000001.jsonl:3: event format 2: written by a newer muster", event.ErrVersion},
		"a newer first line":      {map[int64]string{1: `{"v":2}` + "\n"}, "000001.jsonl:1: event format 2: written by a newer muster", event.ErrVersion},
		"JSON that is no event":   {map[int64]string{1: open1 + a + "{}\n" + b}, "000001.jsonl:3: not an event: v is 0", nil},
		"another term's line":     {map[int64]string{1: open1 + line(2, 7, "x", false)}, "000001.jsonl:2: event 2 is of term 7, this segment is of term 1", nil},
		"a first line of no term": {map[int64]string{1: a}, "000001.jsonl:1: a segment of term 1 cannot start with event 2, task.published", nil},
		"another term's first":    {map[int64]string{2: open1}, "000002.jsonl:1: a segment of term 2 cannot start with event 1, term.opened", nil},
		"a missing segment":       {map[int64]string{2: open2}, "000001.jsonl: is missing, but the segment of a later term continues it", nil},
		"an empty one continued":  {map[int64]string{1: "", 2: open2}, "000001.jsonl: has no first line, but the segment of a later term continues it", nil},
		"a lost end":              {map[int64]string{1: open1, 2: open2}, "000001.jsonl:1: ends at event 1, but the segment of a later term continues event 2: what was between them is lost", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for term, content := range tc.segments {
				setText(t, dir, term, content)
			}
			_, err := collect(Read(t.Context(), lazy, dir, 1))
			if err == nil || !strings.HasPrefix(err.Error(), segmentDir(dir)+"/"+tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			if _, _, err := Open(t.Context(), lazy, dir, me, noon); err == nil {
				t.Error("it was taken over all the same")
			}
		})
	}
}

func TestReadFollowsTheChainOfTerms(t *testing.T) {
	a, b := line(2, 1, "a", false), line(3, 1, "late", false)
	for name, tc := range map[string]struct {
		segments map[int64]string
		want     []string
	}{
		"beyond what was adopted": {map[int64]string{1: open1 + a + b, 2: open2 + line(4, 2, "x", false)},
			[]string{"1 t1 opened", "2 t1 a", "3 t2 opened after 2 of 1", "4 t2 x"}},
		"one that was never opened": {map[int64]string{1: open1 + a, 2: open2[:50], 3: open3},
			[]string{"1 t1 opened", "2 t1 a", "3 t3 opened after 2 of 1"}},
		"one that opened too late": {map[int64]string{1: open1 + a, 2: open2 + line(4, 2, "late", false), 3: open3},
			[]string{"1 t1 opened", "2 t1 a", "3 t3 opened after 2 of 1"}},
		"what no successor has decided on": {map[int64]string{1: open1 + a + b, 2: ""},
			[]string{"1 t1 opened", "2 t1 a", "3 t1 late"}},
		"other files": {map[int64]string{1: open1 + a}, []string{"1 t1 opened", "2 t1 a"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for term, content := range tc.segments {
				setText(t, dir, term, content)
			}
			for _, name := range []string{"notes.txt", "7.jsonl", "000000.jsonl", "000009.jsonl.bak", "-00001.jsonl"} {
				if err := os.WriteFile(segmentDir(dir)+"/"+name, []byte("x\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wantJournal(t, dir, tc.want...)
		})
	}
}

func TestF034HistoryOfAJobWithTwoTerms(t *testing.T) {
	dir := t.TempDir()
	first, _ := reopen(t, lazy, dir)
	add(t, first, said("step 1", "step 2"))
	closed(t, first)
	// Killed in the middle of a record.
	setText(t, dir, 1, text(t, dir, 1)+line(5, 1, "step 3", false)[:60])
	second, _ := reopen(t, lazy, dir)
	add(t, second, said("step 3"))
	add(t, second, finish())
	closed(t, second)
	wantJournal(t, dir, "1 t1 opened", "2 t1 step 1", "3 t1 step 2", "4 t2 opened after 3 of 1", "5 t2 step 3", "6 t2 job.finished")
}

func TestReadStartsWhereItIsTold(t *testing.T) {
	dir := t.TempDir()
	for _, value := range []string{"a", "b", "c"} {
		j, _ := reopen(t, lazy, dir)
		add(t, j, said(value))
		closed(t, j)
	}
	all := []string{"1 t1 opened", "2 t1 a", "3 t2 opened after 2 of 1", "4 t2 b", "5 t3 opened after 4 of 2", "6 t3 c"}
	for from := int64(0); from <= 8; from++ {
		events, err := collect(Read(t.Context(), lazy, dir, from))
		if err != nil {
			t.Fatal(err)
		}
		want := all[min(max(from-1, 0), 6):]
		if len(want) == 0 {
			want = nil
		}
		wantWords(t, events, want...)
	}
}

func TestReadCanBeLeftEarly(t *testing.T) {
	dir := t.TempDir()
	j, _ := reopen(t, lazy, dir)
	add(t, j, said("a", "b"))
	for e, err := range Read(t.Context(), lazy, dir, 1) {
		if err != nil || e.Seq != 1 {
			t.Fatal(e, err)
		}
		break
	}
}

func TestAJobWithoutJournalHasNoEvents(t *testing.T) {
	dir := t.TempDir()
	wantJournal(t, dir)
	if _, err := collect(Read(t.Context(), lazy, dir+"/none", 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a job that is not there: %v", err)
	}
}

func TestEventsOfALaterMusterPassThrough(t *testing.T) {
	dir := t.TempDir()
	dreamt := `{"v":1,"seq":2,"term":1,"at":"2026-11-30T12:00:00Z","type":"task.dreamt","data":{"of":"sheep"},"more":true}` + "\n"
	setText(t, dir, 1, open1+dreamt+line(3, 1, "a", false))
	wantJournal(t, dir, "1 t1 opened", "2 t1 task.dreamt", "3 t1 a")
}

package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/wire"
)

// A task tells of itself by appending JSON lines to MUSTER_REPORT_FILE:
//
//	{"step": 1, "total": 10, "loss": 0.5, "text": "epoch 1"}
//	{"publish": {"key": "dashboard", "value": "http://…"}}
//
// What is no such line is passed over: a report can never harm a task.
type report struct {
	ready     bool
	progress  *event.Progress // the newest
	published []wire.Published
}

// publish adds what the launch makes known of a task that is ready.
func (r *report) publish(known map[string]string) {
	for key, value := range known {
		r.published = append(r.published, wire.Published{Key: key, Value: value})
	}
}

// apply hands a report to the loop.
func (r report) apply(_ context.Context, e *executor) {
	i := &e.now
	if r.progress != nil {
		i.progress = r.progress
	}
	for _, p := range r.published {
		if len(e.published) < publishedMost || e.published[p.Key] != "" {
			e.published[p.Key] = p.Value
			e.send(wire.Message{Published: &p})
		}
	}
	if r.ready && !i.ready {
		i.ready = true
		e.changed()
		e.send(wire.Message{Ready: &wire.Ready{Incarnation: i.number}})
	}
}

// Bounds of what a task can make us keep.
const (
	publishedMost = 64
	publishedSize = 4 << 10
	textSize      = 1 << 10
	valuesMost    = 64
	lineSize      = 64 << 10
)

// reader follows a report file that grows.
type reader struct {
	path   string
	offset int64
	freed  int64  // up to here the file takes no disk any more
	rest   []byte // of a line whose end is not there yet
	skip   bool   // the line is too long: wait for its end
}

// read takes what has come since the last call. last also takes a line without
// an end.
func (t *reader) read(last bool) report {
	var r report
	f, err := os.Open(t.path)
	if err != nil {
		return r
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < t.offset {
		*t = reader{path: t.path} // begun anew
	}
	defer t.free()
	buf := make([]byte, lineSize)
	for {
		n, err := f.ReadAt(buf, t.offset)
		t.offset += int64(n)
		t.take(buf[:n], &r)
		if err != nil || n == 0 {
			if last && err == io.EOF {
				t.take([]byte("\n"), &r)
			}
			return r
		}
	}
}

// freeSize is how much of a report file may lie on the disk although it was read.
const freeSize = 1 << 20

// free gives back the disk under what has been read: a program may report each
// of its steps for a week. Where a file system cannot, the file stays as it is.
func (t *reader) free() {
	if t.offset-t.freed < freeSize {
		return
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, t.freed, t.offset-t.freed)
	t.freed = t.offset
}

func (t *reader) take(data []byte, r *report) {
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !t.skip {
			t.rest = append(t.rest, line...)
		}
		t.skip = t.skip || len(t.rest) > lineSize
		if t.skip {
			t.rest = nil
		}
		if !ended {
			return
		}
		if !t.skip {
			parse(t.rest, r)
		}
		t.rest, t.skip, data = nil, false, rest
	}
}

// notNumbers are what Python writes for numbers that JSON does not have. A loss
// that is none is worth telling, so they become words, and numbers again.
var notNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\s*(NaN|-?Infinity)\b`) })

func parse(line []byte, r *report) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		if json.Unmarshal(notNumbers().ReplaceAll(line, []byte(`:"$1"`)), &fields) != nil {
			return
		}
	}
	if raw, ok := fields["publish"]; ok {
		var p wire.Published
		if json.Unmarshal(raw, &p) == nil && p.Key != "" && len(p.Key)+len(p.Value) <= publishedSize {
			r.published = append(r.published, p)
		}
		delete(fields, "publish")
	}
	if len(fields) > 0 {
		if p, ok := progressOf(fields); ok {
			r.progress = p
		}
	}
}

func progressOf(fields map[string]json.RawMessage) (*event.Progress, bool) {
	p := &event.Progress{}
	known := false
	for name, raw := range fields {
		number, err := number(raw)
		switch {
		case name == "text":
			known = json.Unmarshal(raw, &p.Text) == nil || known
			p.Text = strings.ToValidUTF8(p.Text[:min(len(p.Text), textSize)], "") // no letter is cut in two
		case err != nil:
		case name == "step":
			p.Step, known = count(number), true
		case name == "total":
			p.Total, known = count(number), true
		case name == "step_time":
			p.StepTime = seconds(number)
		case len(p.Values) < valuesMost && len(name) <= 128:
			if p.Values == nil {
				p.Values = map[string]float64{}
			}
			p.Values[name], known = number, true
		}
	}
	return p, known
}

// number reads a number, or one of the words for what is none.
func number(raw json.RawMessage) (float64, error) {
	var n float64
	var word string
	switch err := json.Unmarshal(raw, &n); {
	case string(raw) == "null":
		return 0, errors.New("no number")
	case err == nil:
		return n, nil
	case json.Unmarshal(raw, &word) == nil && (word == "NaN" || strings.HasSuffix(word, "Infinity")):
		return strconv.ParseFloat(word, 64)
	default:
		return 0, err
	}
}

// seconds are a time; 0 for what can be none.
func seconds(n float64) float64 {
	if n > 0 && !math.IsInf(n, 0) {
		return n
	}
	return 0
}

// count is a number of steps; 0 for what can be none.
func count(n float64) int64 {
	if n >= 0 && n < 1<<53 {
		return int64(n)
	}
	return 0
}

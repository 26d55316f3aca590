package cli

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process/capture"
)

// logMerge reads the logs of many processes as one, by time. Each pump goes to
// what is the end then: lines of one pump are in order, and a line that was
// written late comes with the next.
type logMerge struct {
	filter logFilter
	queue  logQueue
	idle   []*logStream
	known  map[string]bool
}

// logStream is one log with the line that comes next.
type logStream struct {
	reader *capture.Reader
	next   logLine
	serial int // ties go to the stream that was opened first
}

// logDir is where the logs of one incarnation of a task lie.
func logDir(job string, id plan.TaskID, incarnation int) string {
	return filepath.Join(job, "tasks", id.Dir(), fmt.Sprint(incarnation), "logs")
}

// open adds the logs of an incarnation, once. Those that are not there (yet)
// are left for a later call.
func (m *logMerge) open(job string, id plan.TaskID, incarnation, procs int) error {
	for proc := range procs {
		for _, stderr := range []bool{false, true} {
			if !m.filter.wants(id, incarnation, stderr) {
				continue
			}
			name := fmt.Sprintf("%d.out", proc)
			if stderr {
				name = fmt.Sprintf("%d.err", proc)
			}
			path := filepath.Join(logDir(job, id, incarnation), name)
			if m.known[path] {
				continue
			}
			r, err := m.reader(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if m.known == nil {
				m.known = map[string]bool{}
			}
			m.known[path] = true
			m.idle = append(m.idle, &logStream{reader: r, serial: len(m.known),
				next: logLine{Task: id, Incarnation: incarnation, Proc: proc, Stderr: stderr}})
		}
	}
	return nil
}

func (m *logMerge) reader(path string) (*capture.Reader, error) {
	if m.filter.since.IsZero() {
		return capture.Open(path)
	}
	return capture.OpenSince(path, m.filter.since)
}

// pump gives up to most lines that are there now; with rest also last lines that
// have no end. It says whether it met the end of all.
func (m *logMerge) pump(most int, rest bool, show func(*logLine) error) (atEnd bool, err error) {
	waiting := m.idle
	m.idle = nil
	for _, s := range waiting {
		if err := m.advance(s, rest); err != nil {
			return false, err
		}
	}
	for n := 0; len(m.queue) > 0; {
		s := m.queue[0]
		if m.filter.grep == nil || m.filter.grep.MatchString(s.next.Text) {
			if n == most {
				return false, nil
			}
			n++
			if err := show(&s.next); err != nil {
				return false, err
			}
		}
		heap.Pop(&m.queue)
		if err := m.advance(s, rest); err != nil {
			return false, err
		}
	}
	return true, nil
}

// advance puts a stream into the queue with its next line, or aside.
func (m *logMerge) advance(s *logStream, rest bool) error {
	line, err := s.reader.Next()
	if errors.Is(err, io.EOF) {
		more := false
		if rest {
			line, more = s.reader.Rest()
		}
		if !more {
			m.idle = append(m.idle, s)
			return nil
		}
	} else if err != nil {
		return err
	}
	s.next.Text, s.next.At = line.Text, line.At
	heap.Push(&m.queue, s)
	return nil
}

func (m *logMerge) close() error {
	var problems []error
	for _, s := range append(m.idle, m.queue...) {
		problems = append(problems, s.reader.Close())
	}
	m.idle, m.queue = nil, nil
	return errors.Join(problems...)
}

// logQueue is a heap of streams by the time of their next lines.
type logQueue []*logStream

func (q logQueue) Len() int { return len(q) }
func (q logQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if !a.next.At.Equal(b.next.At) {
		return a.next.At.Before(b.next.At)
	}
	return a.serial < b.serial
}
func (q logQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *logQueue) Push(x any)   { *q = append(*q, x.(*logStream)) }
func (q *logQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// logTail shows the logs of a job while run follows it.
type logTail struct {
	job     job
	screen  *screen
	merge   logMerge
	painter *painter
	started []incarnation
}

type incarnation struct {
	task   plan.TaskID
	number int
}

func (e *Env) newLogTail(j job, s *screen) *logTail {
	return &logTail{job: j, screen: s, painter: newPainter(j.Plan, e.Color(e.Stdout))}
}

// open notes an incarnation whose logs are to be shown.
func (t *logTail) open(id plan.TaskID, number int) {
	t.started = append(t.started, incarnation{id, number})
}

// mostLines bounds one pump, so that a chatty job does not keep run from its signals.
const mostLines = 2000

// pump shows what was printed since the last one, and says whether that was all.
func (t *logTail) pump() (atEnd bool, err error) { return t.step(mostLines, false) }

// drain shows all that is left and closes the logs.
func (t *logTail) drain() error {
	for {
		atEnd, err := t.step(mostLines, true)
		if atEnd || err != nil {
			return errors.Join(err, t.merge.close())
		}
	}
}

func (t *logTail) step(most int, rest bool) (bool, error) {
	for _, s := range t.started {
		if err := t.merge.open(t.job.files(), s.task, s.number, t.procs(s.task)); err != nil {
			return false, err
		}
	}
	return t.merge.pump(most, rest, func(l *logLine) error {
		t.screen.line(l.Stderr, t.painter.line(l))
		return nil
	})
}

func (t *logTail) procs(id plan.TaskID) int {
	if r := t.job.Plan.Role(id.Role); r != nil {
		return max(1, r.Procs)
	}
	return 1
}

package keep

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/storage"
)

// Mirror brings the kept logs of a job to this machine, as capture's logs below
// Local, and keeps them up to date. Several mirrors, also of several processes,
// may have the same Local.
type Mirror struct {
	FS    storage.FS
	Job   string // the job's directory in FS
	Local string // gets tasks/<task>/<incarnation>/logs/N.out …
	Log   *slog.Logger

	// Live opens one stream of a running task as frames from an offset on, until
	// the task's end; see Copy. nil: there is only what was kept.
	Live func(ctx context.Context, task string, incarnation int, stream string, offset int64) (io.ReadCloser, error)
	// Want says which incarnations to bring; nil: all.
	Want func(task string, incarnation int) bool

	// Every is how often to look for chunks; 0: two seconds. Streams is how many
	// are heard live at one time; 0: 64. Others come by their chunks.
	Every   time.Duration
	Streams int

	mu     sync.Mutex
	places map[placeKey]*place
	news   chan struct{} // of size 1: something is watched that was not
}

type placeKey struct {
	task        string
	incarnation int
}

// Defaults of a mirror.
const (
	everyDefault   = 2 * time.Second
	everyMost      = 20 * time.Second
	streamsDefault = 64
	// linger is how long the last chunks of a job that has ended are waited for: an
	// executor that was killed writes none.
	linger = 15 * time.Second
	// readers is how many incarnations are read at one time.
	readers = 4
)

// taskName is what the directory of a task is called: role and index.
// Only readers need it; it would be a tenth of a megabyte in every writer.
var taskName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}-[0-9]{1,9}$`) })

// Watch says that an incarnation of a task, "worker-0", runs and has these
// streams: they are heard live. It may be called before and during Run.
func (m *Mirror) Watch(task string, incarnation int, streams []string) {
	p := m.place(task, incarnation)
	if p == nil {
		return
	}
	p.mu.Lock()
	for _, s := range streams {
		if _, known := p.streams[s]; !known && streamName.MatchString(s) {
			p.streams[s] = false
		}
	}
	p.mu.Unlock()
	select {
	case m.channel() <- struct{}{}:
	default:
	}
}

// channel tells Run of what is watched.
func (m *Mirror) channel() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.news == nil {
		m.news = make(chan struct{}, 1)
	}
	return m.news
}

// place is the place of an incarnation; nil if nobody wants it.
func (m *Mirror) place(task string, incarnation int) *place {
	if !taskName().MatchString(task) || incarnation < 1 || m.Want != nil && !m.Want(task, incarnation) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := placeKey{task, incarnation}
	p := m.places[key]
	if p == nil {
		p = newPlace(m.Local, task, incarnation)
		if m.places == nil {
			m.places = map[placeKey]*place{}
		}
		m.places[key] = p
	}
	return p
}

// all are the places, in order.
func (m *Mirror) all() []*place {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*place, 0, len(m.places))
	for _, p := range m.places {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *place) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.incarnation, b.incarnation))
	})
	return out
}

// Once brings everything that is kept now. final says that nothing more can come
// for any incarnation that is known. An error is of some incarnations: the
// others were read.
func (m *Mirror) Once(ctx context.Context) (final bool, err error) {
	if m.FS != nil {
		err = m.discover(ctx)
	}
	var group errgroup.Group
	group.SetLimit(readers)
	final = true
	places := m.all()
	wrong := make([]error, len(places))
	for i, p := range places {
		if p.done() || m.FS == nil {
			continue
		}
		group.Go(func() error {
			wrong[i] = p.read(ctx, m.FS, m.Job)
			return nil // the others go on
		})
	}
	_ = group.Wait()
	for _, p := range places {
		final = final && p.done()
	}
	return final, errors.Join(append(wrong, err)...)
}

// discover finds the incarnations that have chunks.
func (m *Mirror) discover(ctx context.Context) error {
	root := m.Job + "/" + logsDir
	tasks, err := list(ctx, m.FS, root)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if !task.IsDir() || !taskName().MatchString(task.Name()) {
			continue
		}
		incarnations, err := list(ctx, m.FS, root+"/"+task.Name())
		if err != nil {
			return err
		}
		for _, i := range incarnations {
			if n, err := strconv.Atoi(i.Name()); err == nil && strconv.Itoa(n) == i.Name() {
				m.place(task.Name(), n)
			}
		}
	}
	return nil
}

// Run keeps the mirror up to date until ctx is done (its error), or the job has
// ended, which the caller tells by closing ended, and everything is here as far
// as it can be (nil). A storage that fails is looked at again.
func (m *Mirror) Run(ctx context.Context, ended <-chan struct{}) error {
	listeners := &listeners{mirror: m, free: make(chan struct{}, cmp.Or(m.Streams, streamsDefault))}
	inner, cancel := context.WithCancel(ctx)
	defer listeners.wait()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	var late <-chan time.Time // once ended
	told := ""
	for {
		over := late != nil
		begin := time.Now()
		final, err := m.Once(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			m.log().Warn("kept logs cannot be read for now", "error", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if over && final {
			return nil
		}
		listeners.start(inner)
		// A job of thousands of tasks must not keep its storage busy with looks.
		timer.Reset(max(cmp.Or(m.Every, everyDefault), min(4*time.Since(begin), everyMost)))
		select {
		case <-timer.C:
		case <-m.channel():
		case <-ended:
			ended = nil
			t := time.NewTimer(linger)
			defer t.Stop()
			late = t.C
		case <-late:
			_, err := m.Once(ctx)
			return err
		case <-ctx.Done():
		}
	}
}

func (m *Mirror) log() *slog.Logger {
	if m.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.Log
}

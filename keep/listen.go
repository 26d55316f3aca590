package keep

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/muster-project/muster/process/capture"
)

// listeners hear the watched streams of a mirror live, each in a goroutine that
// ends with its task or its context.
type listeners struct {
	mirror *Mirror
	free   chan struct{} // a token for each
	wg     sync.WaitGroup
}

func (l *listeners) wait() { l.wg.Wait() }

// start hears what is watched and not heard yet, as far as there are tokens.
func (l *listeners) start(ctx context.Context) {
	if l.mirror.Live == nil {
		return
	}
	for _, p := range l.mirror.all() {
		for _, stream := range p.unheard() {
			select {
			case l.free <- struct{}{}:
			default:
				return
			}
			if !p.ask(stream) {
				<-l.free
				continue
			}
			l.wg.Go(func() {
				defer func() { <-l.free }()
				l.mirror.listen(ctx, p, stream)
			})
		}
	}
}

// unheard are the watched streams that nobody listens to.
func (p *place) unheard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for s, heard := range p.streams {
		if !heard && !p.asked[s] && !p.final {
			out = append(out, s)
		}
	}
	return out
}

// ask says that a stream is listened to from now on; false: it is already.
func (p *place) ask(stream string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.asked[stream]
	p.asked[stream] = true
	return !was
}

// Waits between two attempts to hear a stream.
const (
	hearFirst = 200 * time.Millisecond
	hearLast  = 10 * time.Second
)

// listen hears one stream until it is whole.
func (m *Mirror) listen(ctx context.Context, p *place, stream string) {
	wait := hearFirst
	for !p.done() {
		began := time.Now()
		whole, err := m.hear(ctx, p, stream)
		if whole {
			p.mu.Lock()
			p.streams[stream] = true
			p.mu.Unlock()
			return
		}
		if time.Since(began) > hearLast {
			wait = hearFirst
		}
		m.log().Debug("stream is not heard live for now", "task", p.String(), "stream", stream, "error", err)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
			wait = min(2*wait, hearLast)
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// errGap says that a live stream begins behind what is here: a chunk must come
// first.
var errGap = errors.New("older output has not been read yet")

// hear adds a live stream from where the log ends here.
func (m *Mirror) hear(ctx context.Context, p *place, stream string) (whole bool, err error) {
	offset, err := capture.End(p.path(stream))
	if err != nil {
		return false, err
	}
	r, err := m.Live(ctx, p.task, p.incarnation, stream, offset)
	if err != nil {
		return false, err
	}
	defer r.Close()
	e, err := decode(r, func(f Frame) error {
		if f.Stream != stream {
			return nil
		}
		return p.append(ctx, f, m.FS == nil)
	})
	return e.whole, err
}

// append adds a live frame. Without gaps, one that begins behind the end is not
// taken: chunks may have what is missing.
func (p *place) append(ctx context.Context, f Frame, gaps bool) error {
	unlock, err := p.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c := p.copies()
	defer c.close()
	one, err := c.of(f.Stream)
	if err != nil {
		return err
	}
	if f.Offset > one.End() && !gaps {
		return errGap
	}
	return one.Add(f.Offset, f.Marks, f.Data)
}

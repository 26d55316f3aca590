package yarn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/storage"
)

var (
	_ backend.Gang     = (*master)(nil)
	_ backend.Reporter = (*master)(nil)
)

// Events delivers what happened.
func (m *master) Events() <-chan backend.Event { return m.feed.Events() }

// Request asks for slots by the gang rule.
func (m *master) Request(_ context.Context, r backend.Request) error {
	return m.put(func(now time.Time) { m.book.Request(r, now) })
}

// Launch starts executors, all of a node with one call.
func (m *master) Launch(_ context.Context, starts []backend.Start) error {
	return m.put(func(now time.Time) {
		ids := make([]string, len(starts))
		for i, st := range starts {
			ids[i] = st.Slot.ID
			m.starts[st.Slot.ID] = st
		}
		m.book.Launch(ids, now)
	})
}

// Release ends slots.
func (m *master) Release(_ context.Context, slots []string, now bool) error {
	return m.put(func(at time.Time) { m.book.Release(slots, now, at) })
}

// Report is how far the job is, for the resource manager's list.
func (m *master) Report(fraction float64) {
	_ = m.put(func(time.Time) { m.fraction = min(1, max(0, fraction)) }) // nobody is to be told after the end
}

// Close ends everything that is left and then the application, with the verdict
// as its diagnostics.
func (m *master) Close(ctx context.Context, o event.Outcome) error {
	if err := m.put(func(now time.Time) { m.closing = true; m.book.Close(now) }); err != nil {
		return err
	}
	select {
	case <-m.empty:
	case <-time.After(closeLimit):
		m.Log.Warn("containers are left to the resource manager, which ends them with the application")
	case <-m.lost:
		return fmt.Errorf("%s: %w", m.AM.App, backend.ErrSuperseded)
	case <-ctx.Done():
		return fmt.Errorf("%s: its containers have not ended: %w", m.AM.App, context.Cause(ctx))
	}
	m.stop() // a heartbeat after the end would be refused
	m.Renewal.giveBack(ctx)
	if m.settings.Keytab != "" {
		if err := removeKeytab(ctx, m.FS, m.AM.Dir); err != nil {
			m.Log.Error("the job's keytab was not removed", "dir", m.AM.Dir, "error", err)
		}
	}
	err := m.scheduler.Finish(ctx, finalStatus(o), verdict(o), "")
	m.shut()
	if err != nil {
		return fmt.Errorf("%s: %w", m.AM.App, err)
	}
	return nil
}

// closeLimit is how long the end of containers is waited for before the
// application ends, which ends them, too.
const closeLimit = 30 * time.Second

func finalStatus(o event.Outcome) yarnpb.FinalStatus {
	switch o.State {
	case event.Succeeded:
		return yarnpb.FinalStatus_APP_SUCCEEDED
	case event.Stopped, event.Preempted: // nobody failed
		return yarnpb.FinalStatus_APP_KILLED
	}
	return yarnpb.FinalStatus_APP_FAILED
}

// verdict is what people read at the resource manager.
func verdict(o event.Outcome) string {
	text := string(o.State)
	if o.Text != "" && o.Text != text {
		text += ": " + o.Text
	}
	if o.Status != 0 {
		text += fmt.Sprintf(" (status %d)", o.Status)
	}
	if o.Exit != nil && len(o.Exit.Stderr) > 0 {
		text += "\n" + strings.Join(o.Exit.Stderr, "\n")
	}
	if o.Hint != "" {
		text += "\nhint: " + o.Hint
	}
	return text
}

// Leave lets go of the job without touching a task: the application stays, and
// the resource manager starts the next coordinator. A coordinator that stepped
// aside ends its application instead, and leaves a note for whoever submits the
// job again.
func (m *master) Leave() error {
	m.stop()
	var err error
	if m.aside != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.life), asideLimit)
		defer cancel()
		m.scout.keepTicket(ctx, false)
		if err = m.noteAside(ctx); err == nil {
			err = m.scheduler.Finish(ctx, yarnpb.FinalStatus_APP_KILLED, "stepped aside for "+m.aside.Head, "")
		}
	}
	m.shut()
	return err
}

const asideLimit = time.Minute

// asideOf is the note that a coordinator leaves which stepped aside.
func (m *master) asideOf(a *gang.Aside) *Aside {
	return &Aside{App: m.AM.App, Ticket: cmp.Or(m.AM.Ticket, m.AM.App), TicketTime: a.Ticket.Time, Priority: a.Ticket.Priority,
		Partitions: m.scout.partitions, Head: a.Head, At: a.At, Reason: a.Text}
}

// noteAside writes why this coordinator ends although the job has not.
func (m *master) noteAside(ctx context.Context) error {
	path := m.AM.Dir.Aside(m.AM.Try)
	data, err := json.Marshal(m.aside)
	if err != nil {
		return err
	}
	w, err := m.FS.Create(ctx, path, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = writeAll(ctx, w, data)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", path, err)
	}
	return nil
}

func writeAll(ctx context.Context, w storage.Writer, data []byte) error {
	_, err := w.Write(data)
	return errors.Join(err, w.Sync(ctx), w.Close())
}

// put hands the loop something to do.
func (m *master) put(in func(now time.Time)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.superseded {
		return fmt.Errorf("%s: %w", m.AM.App, backend.ErrSuperseded)
	}
	m.queue = append(m.queue, in)
	select {
	case m.news <- struct{}{}:
	default:
	}
	return nil
}

func (m *master) take() []func(time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.queue
	m.queue = nil
	return out
}

// supersede stops everything: another coordinator has the job, and nothing of
// it is ours to touch.
func (m *master) supersede(why error) {
	m.mu.Lock()
	was := m.superseded
	m.superseded = true
	m.mu.Unlock()
	if !was {
		close(m.lost)
		m.Log.Warn("another coordinator has the job", "error", why)
		m.feed.Tell(backend.Event{Superseded: true})
	}
}

// stop ends the loop and every call under way. It may be repeated.
func (m *master) stop() {
	m.end()
	m.owned.Wait()
}

// shut lets go of everything.
func (m *master) shut() {
	m.stop()
	m.feed.Close()
	for name, err := range map[string]error{"scheduler": m.scheduler.Close(), "nodes": m.nodes.Close(), "resource manager": m.scout.close()} {
		if err != nil && !strings.Contains(err.Error(), "closed") {
			m.Log.Debug("connection did not end well", "to", name, "error", err)
		}
	}
}

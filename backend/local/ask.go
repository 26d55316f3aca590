package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
)

// ask puts one request to the server until it is granted in full or refused. A
// server that goes away is waited for, and started where it is ours to start.
func (g *gang) ask(r backend.Request) {
	req := api.SlotRequest{Job: g.plan.ID, Number: r.Number, Minimum: r.Minimum, Asks: r.Asks, Ticket: g.ticket(r.Number)}
	pause := newPause()
	for g.life.Err() == nil {
		done, err := g.askOnce(&req, pause)
		if done {
			return
		}
		var e *api.Error
		if errors.As(err, &e) && (e.Code == api.CodeRefused || e.Code == api.CodeForbidden || e.Code == api.CodeVersion) {
			g.tell(backend.Event{Refused: &backend.Refused{Request: r.Number, Reason: e.Text}})
			return
		}
		if err != nil {
			g.Log.Debug("server is away", "request", r.Number, "error", err)
		}
		if pause.count > patient {
			g.tell(backend.Event{Waiting: &backend.Waiting{Request: r.Number, Reasons: []string{fmt.Sprintf("the server does not answer: %v", err)}}})
		}
		if !pause.wait(g.life) {
			return
		}
		if api.Away(err) && g.Client.Start != nil {
			if err := g.Client.Start(g.life); err != nil {
				g.Log.Warn("server cannot be started", "error", err)
			}
		}
	}
}

// patient is how many times a server may not answer before people are told.
const patient = 5

// askOnce listens to one connection. It says whether nothing is left to ask.
func (g *gang) askOnce(req *api.SlotRequest, pause *pause) (done bool, err error) {
	for a, err := range g.Client.Slots(g.life, *req) {
		if err != nil {
			return false, err
		}
		pause.reset()
		if a.Ticket != 0 && req.Ticket == 0 {
			req.Ticket = a.Ticket
			g.keepTicket(req.Number, a.Ticket)
		}
		if a.Refused != "" {
			g.tell(backend.Event{Refused: &backend.Refused{Request: req.Number, Reason: a.Refused}})
			return true, nil
		}
		for _, slot := range g.accept(a.Granted) {
			req.Asks = slices.DeleteFunc(slices.Clone(req.Asks), func(k backend.Ask) bool { return k.Task == slot.Task })
			g.tell(backend.Event{Granted: &slot})
		}
		if len(req.Asks) == 0 {
			return true, nil
		}
		if len(a.Reasons) > 0 {
			g.tell(backend.Event{Waiting: &backend.Waiting{Request: req.Number, Reasons: a.Reasons}})
		}
	}
	return false, io.EOF
}

// accept joins the holders of granted claims. A claim that lapsed meanwhile,
// because the server died, is not accepted: it is asked for again.
func (g *gang) accept(grants []api.Grant) []backend.Slot {
	var got []backend.Slot
	for _, grant := range grants {
		if _, err := g.hold(grant.Slot, grant.Claim); err != nil {
			g.Log.Warn("grant lapsed", "slot", grant.Slot.ID, "error", err)
			continue
		}
		got = append(got, grant.Slot)
	}
	return got
}

// hold takes a claim, once.
func (g *gang) hold(k backend.Slot, claim string) (*slot, error) {
	g.mu.Lock()
	have, closed := g.slots[k.ID], g.closed
	g.mu.Unlock()
	if have != nil {
		return have, nil
	}
	if closed {
		return nil, errClosed
	}
	if err := os.MkdirAll(g.slotDir(k.ID), 0o700); err != nil {
		return nil, err
	}
	if err := writeJSON(filepath.Join(g.slotDir(k.ID), claimFile), claim); err != nil {
		return nil, err
	}
	// A slot of this name may have lapsed before; see executorOf.
	for _, name := range []string{nativeFile, startFile} {
		if err := os.Remove(filepath.Join(g.slotDir(k.ID), name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	unlock, err := Ledger{Dirs: []string{filepath.Dir(claim)}}.Lock(g.life)
	if err != nil {
		return nil, err
	}
	defer unlock()
	held, err := Take(claim)
	if err != nil {
		return nil, err
	}
	probe, err := openClaim(claim)
	if err != nil {
		held.Close()
		return nil, err
	}
	s := newSlot(k, probe)
	s.held = held
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		s.letGo()
		return nil, errClosed
	}
	g.slots[k.ID] = s
	return s, nil
}

var errClosed = errors.New("the gang is closed")

// claimFile names, in a slot's directory, the path of its claim.
const claimFile = "claim.json"

// ticket is the place in the queue that an earlier life of this job was given.
func (g *gang) ticket(number int) (t int64) {
	if err := readJSON(g.ticketPath(number), &t); err != nil {
		return 0
	}
	return t
}

func (g *gang) keepTicket(number int, t int64) {
	if err := writeJSON(g.ticketPath(number), t); err != nil {
		g.Log.Warn("place in the queue is not kept", "error", err)
	}
}

func (g *gang) ticketPath(number int) string {
	return filepath.Join(g.Dir, "slots", fmt.Sprintf("request-%d.json", number))
}

// pause waits longer and longer between attempts.
type pause struct{ count int }

func newPause() *pause { return new(pause) }

func (p *pause) reset() { p.count = 0 }

// wait says whether to go on.
func (p *pause) wait(ctx context.Context) bool {
	p.count++
	t := time.NewTimer(min(50*time.Millisecond<<min(p.count, 6), 2*time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

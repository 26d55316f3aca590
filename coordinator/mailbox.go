package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/session"
)

// mailEvery is how often the mailbox is looked into where Config says nothing. A
// directory works on every file system and for a coordinator that is not there
// yet.
const mailEvery = 200 * time.Millisecond

// watchMail rings when something lies in the job's mailbox.
func (k *coordinator) watchMail(ctx context.Context) {
	t := time.NewTicker(cmp.Or(k.MailEvery, mailEvery))
	defer t.Stop()
	for {
		if k.readMail(ctx) {
			k.in.ring()
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// letter is one message and where it lies.
type letter struct {
	path  string
	input session.Input // nil: not understood, or not from somebody who may
}

// mail is what was read and is not removed yet. The watcher reads, so that a
// slow file system holds up nobody else.
type mail struct {
	mu      sync.Mutex
	letters []letter
	known   map[string]bool // read, and not seen to be gone
}

// readMail reads what is new in the mailbox and says whether there is any.
func (k *coordinator) readMail(ctx context.Context) bool {
	entries, err := k.FS.List(ctx, k.path("mailbox"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if ctx.Err() == nil {
			k.Log.Warn("mailbox cannot be read", "error", err)
		}
		return false
	}
	fresh := false
	there := map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := k.path("mailbox", e.Name())
		there[at] = true
		if k.mail.has(at) {
			continue
		}
		data, err := readAll(ctx, k.FS, at)
		if err != nil {
			k.Log.Warn("message cannot be read", "error", err)
			continue
		}
		in, err := k.inputOf(ctx, e, data)
		if errors.Is(err, errUnsure) {
			k.Log.Warn("message waits", "path", at, "error", err)
			continue
		}
		if err != nil {
			k.Log.Warn("message does not count", "path", at, "error", err)
		}
		k.mail.add(letter{at, in})
		fresh = true
	}
	k.mail.forget(there)
	return fresh
}

func (m *mail) has(at string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[at]
}

func (m *mail) add(l letter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]bool{}
	}
	m.known[l.path] = true
	m.letters = append(m.letters, l)
}

// forget drops the names of messages that are gone.
func (m *mail) forget(there map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.known, func(at string, _ bool) bool { return !there[at] })
}

// take hands over the messages that were read.
func (m *mail) take() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.letters
	m.letters = nil
	return out
}

// removeMail removes messages once what follows from them is in the journal, so
// that a coordinator that dies leaves them to the next one; a stop, or a signal
// of one name, asked for twice harms nothing.
func (k *coordinator) removeMail(ctx context.Context, letters []letter) {
	for _, l := range letters {
		if err := k.FS.Remove(ctx, l.path); err != nil {
			k.Log.Warn("message cannot be removed", "error", err)
		}
	}
}

func (k *coordinator) inputOf(ctx context.Context, file fs.FileInfo, data []byte) (session.Input, error) {
	var m api.Mail
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if err := k.admit(ctx, file, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Stop != nil:
		return session.Stop{Reason: m.Stop.Reason, By: m.Stop.By, Now: m.Stop.Now}, nil
	case m.Requeue != nil:
		return session.Requeue{Request: m.Requeue.Request, Reason: m.Requeue.Reason, By: m.Requeue.By}, nil
	case m.Signal != nil:
		return session.Signal{Request: m.Signal.Request, Signal: m.Signal.Signal, Tasks: m.Signal.Tasks, By: m.Signal.By}, nil
	}
	return nil, fmt.Errorf("neither stop nor signal nor requeue")
}

package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/session"
)

// mailEvery is how often the mailbox is looked into. A directory works on every
// file system and for a coordinator that is not there yet.
const mailEvery = 200 * time.Millisecond

// watchMail rings when something lies in the job's mailbox.
func (k *coordinator) watchMail(ctx context.Context) {
	t := time.NewTicker(mailEvery)
	defer t.Stop()
	for {
		if len(k.letters()) > 0 {
			k.in.ring()
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// letters are the complete messages in the mailbox.
func (k *coordinator) letters() []string {
	entries, err := os.ReadDir(k.path("mailbox"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.Log.Warn("mailbox cannot be read", "error", err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, k.path("mailbox", e.Name()))
		}
	}
	return out
}

// readMail turns messages into inputs. They are removed only once what follows
// from them is in the journal, so that a coordinator that dies leaves them to
// the next one; a stop, or a signal of one name, asked for twice harms nothing.
func (k *coordinator) readMail() (inputs []session.Input, read []string) {
	for _, path := range k.letters() {
		data, err := os.ReadFile(path)
		if err != nil {
			k.Log.Warn("message cannot be read", "error", err)
			continue
		}
		read = append(read, path)
		in, err := inputOf(data)
		if err != nil {
			k.Log.Warn("message is not understood", "path", path, "error", err)
			continue
		}
		inputs = append(inputs, in)
	}
	return inputs, read
}

func (k *coordinator) removeMail(paths []string) {
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			k.Log.Warn("message cannot be removed", "error", err)
		}
	}
}

func inputOf(data []byte) (session.Input, error) {
	var m api.Mail
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Stop != nil:
		return session.Stop{Reason: m.Stop.Reason, By: m.Stop.By, Now: m.Stop.Now}, nil
	case m.Signal != nil:
		return session.Signal{Request: m.Signal.Request, Signal: m.Signal.Signal, Tasks: m.Signal.Tasks, By: m.Signal.By}, nil
	}
	return nil, fmt.Errorf("neither stop nor signal")
}

package executor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/wire"
)

func TestALogIsFollowedToTheEnd(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.play(1, shell(`printf 'one\n'; while [ ! -e go ]; do sleep 0.02; done; printf 'two\nlast'; exit 0`))
	open := func(o wire.OpenLog) (io.ReadCloser, error) {
		d.mu.Lock()
		link := d.link
		d.mu.Unlock()
		return d.srv.OpenLog(t.Context(), link, o)
	}
	r, err := open(wire.OpenLog{Incarnation: 1, Name: "0.out", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first := make([]byte, 4)
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "one\n" {
		t.Fatalf("%q, %v", first, err)
	}
	if err := os.WriteFile(filepath.Join(c.Root, "1", "work", "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "two\nlast" {
		t.Errorf("%q, %v", rest, err)
	}
	wait(d, exitOf(1))
	later, err := open(wire.OpenLog{Incarnation: 1, Name: "0.out", Offset: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if rest, err := io.ReadAll(later); err != nil || string(rest) != "two\nlast" {
		t.Errorf("from an offset: %q, %v", rest, err)
	}
	for _, name := range []string{"5.out", "../../start.json", "0.out.idx"} {
		if _, err := open(wire.OpenLog{Incarnation: 1, Name: name}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

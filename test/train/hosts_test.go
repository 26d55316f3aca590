//go:build frameworks

package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/plan"
)

// hosts are simulated machines: network namespaces on a bridge, each with an
// address, a host name and shared memory of its own, and nothing but the network
// between them. They are also a backend: the n-th task gets the n-th host.
type hosts struct {
	t      *testing.T
	binary string
	bridge string
	subnet string // three bytes of an address
	names  []string

	feed *backend.Feed
	wg   sync.WaitGroup
	mu   sync.Mutex
	live map[string]*exec.Cmd // executors, by slot
	node map[string]int
}

// newHosts makes n of them, which takes root.
func newHosts(t *testing.T, n int) *hosts {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("network namespaces: must be root to make them")
	}
	own := os.Getpid() % 250
	h := &hosts{t: t, bridge: "mu" + strconv.Itoa(os.Getpid()), subnet: fmt.Sprintf("10.231.%d.", own+1), live: map[string]*exec.Cmd{}, node: map[string]int{}}
	var err error
	if h.binary, err = filepath.Abs(*muster); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.remove)
	h.ip("link", "add", h.bridge, "type", "bridge")
	h.ip("addr", "add", h.subnet+"254/24", "dev", h.bridge)
	h.ip("link", "set", h.bridge, "up")
	for i := range n {
		name, outer := h.bridge+"h"+strconv.Itoa(i), h.outer(i)
		h.ip("netns", "add", name)
		h.ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
		h.names = append(h.names, name)
		h.ip("link", "set", outer, "master", h.bridge, "up")
		h.ip("-n", name, "addr", "add", h.address(i)+"/24", "dev", "eth0")
		h.ip("-n", name, "link", "set", "eth0", "up")
		h.ip("-n", name, "link", "set", "lo", "up")
	}
	return h
}

func (h *hosts) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// outer is the bridge's end of a host's cable.
func (h *hosts) outer(i int) string { return h.bridge + "v" + strconv.Itoa(i) }

func (h *hosts) remove() {
	for i, name := range h.names {
		h.ip("link", "del", h.outer(i)) // a namespace takes its end away some time later only
		h.ip("netns", "del", name)
	}
	h.ip("link", "del", h.bridge)
}

func (h *hosts) address(i int) string { return h.subnet + strconv.Itoa(i+1) }

// received is how many bytes a host has had from the network.
func (h *hosts) received(i int) int {
	h.t.Helper()
	out, err := exec.Command("ip", "-n", h.names[i], "-j", "-s", "link", "show", "eth0").Output()
	var links []struct {
		Stats struct {
			RX struct{ Bytes int } `json:"rx"`
		} `json:"stats64"`
	}
	if err = errors.Join(err, json.Unmarshal(out, &links)); err != nil || len(links) != 1 {
		h.t.Fatalf("ip -s link: %v: %s", err, out)
	}
	return links[0].Stats.RX.Bytes
}

// inside is a command on a host. No host can resolve another one's name.
func (h *hosts) inside(i int, argv ...string) *exec.Cmd {
	script := fmt.Sprintf(`hostname %[1]s; mount -t tmpfs shm /dev/shm; mount --bind /dev/null /etc/resolv.conf
printf '127.0.0.1 localhost\n%[2]s %[1]s\n' >/dev/shm/hosts; mount --bind /dev/shm/hosts /etc/hosts; exec "$@"`, "host"+strconv.Itoa(i), h.address(i))
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + h.names[i],
		"unshare", "--uts", "--ipc", "--mount", "--propagation", "private", "sh", "-ec", script, "sh"}, argv...)...)
}

var (
	_ backend.Opener = (*hosts)(nil)
	_ backend.Gang   = (*hosts)(nil)
)

// Open is called once: these hosts know no second coordinator.
func (h *hosts) Open(context.Context, *plan.Plan, int64, []backend.Slot) (backend.Gang, error) {
	h.feed = backend.NewFeed()
	return h, nil
}

func (h *hosts) Events() <-chan backend.Event { return h.feed.Events() }

func (h *hosts) Request(_ context.Context, r backend.Request) error {
	for i, a := range r.Asks {
		id := fmt.Sprintf("%d-%s", r.Number, a.Task.Dir())
		h.mu.Lock()
		h.node[id] = i
		h.mu.Unlock()
		h.feed.Tell(backend.Event{Granted: &backend.Slot{ID: id, Request: r.Number, Task: a.Task, Node: h.names[i], Resources: a.Resources}})
	}
	return nil
}

func (h *hosts) Launch(_ context.Context, starts []backend.Start) error {
	for _, s := range starts {
		h.feed.Tell(backend.Event{Started: &backend.Started{Slot: s.Slot.ID, Err: h.start(s)}})
	}
	return nil
}

// start starts an executor on its host, with that host's address.
func (h *hosts) start(s backend.Start) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var c executor.Context
	if err := json.Unmarshal(s.Context, &c); err != nil {
		return err
	}
	i := h.node[s.Slot.ID]
	c.Host = h.address(i)
	text, err := json.Marshal(c)
	file := c.Root + ".json"
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
		return err
	}
	cmd := h.inside(i, h.binary, "executor", "run", "--context", file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	h.live[s.Slot.ID] = cmd
	h.wg.Go(func() {
		gone := backend.Gone{Slot: s.Slot.ID}
		if err := cmd.Wait(); err != nil {
			gone.Class, gone.Reason = event.ClassLost, err.Error()
		}
		h.mu.Lock()
		delete(h.live, s.Slot.ID)
		h.mu.Unlock()
		h.feed.Tell(backend.Event{Gone: &gone})
	})
	return nil
}

// Release sends a signal; a slot without an executor goes at once.
func (h *hosts) Release(_ context.Context, slots []string, _ bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range slots {
		if cmd := h.live[id]; cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM) // or it has ended meanwhile
		} else {
			h.feed.Tell(backend.Event{Gone: &backend.Gone{Slot: id}})
		}
	}
	return nil
}

func (h *hosts) Close(context.Context, event.Outcome) error {
	h.wg.Wait()
	return h.Leave()
}

func (h *hosts) Leave() error {
	h.feed.Close()
	return nil
}

// left waits until nothing runs on the hosts any more.
func (h *hosts) left() {
	h.t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.NewTimer(20*time.Second)
	defer tick.Stop()
	defer late.Stop()
	for _, name := range h.names {
		for {
			out, err := exec.Command("ip", "netns", "pids", name).Output()
			if err == nil && len(out) == 0 {
				break
			}
			select {
			case <-tick.C:
			case <-late.C:
				h.t.Errorf("%s: processes are left: %s, %v", name, strings.Fields(string(out)), err)
				return
			}
		}
	}
}

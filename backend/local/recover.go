package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-project/muster/backend"
)

// recover finds out what became of a slot while no coordinator watched.
func (g *gang) recover(k backend.Slot) {
	var claim string
	if err := readJSON(filepath.Join(g.slotDir(k.ID), claimFile), &claim); err != nil {
		g.Log.Warn("claim is not known", "slot", k.ID, "error", err)
	}
	n, started := g.executorOf(k)
	if !started {
		if s, err := g.hold(k, claim); err == nil {
			g.tell(backend.Event{Granted: &s.Slot})
			return
		}
	}
	probe, err := openClaim(claim)
	if err != nil {
		probe = nil // swept away: all that can be waited for is the executor
	}
	s := newSlot(k, probe)
	g.mu.Lock()
	g.slots[k.ID] = s
	g.mu.Unlock()
	g.sayLaunched([]string{k.ID})
	proc, err := n.find()
	if err != nil {
		g.owned.Go(func() {
			how := "ended while no coordinator watched"
			if !started {
				how = "was not started before its claim lapsed"
			}
			g.awaitFree(s, how, 0, false)
		})
		return
	}
	s.proc = proc
	if s.native, err = json.Marshal(n); err == nil {
		s.Native = s.native
	}
	g.tell(backend.Event{Adopted: &s.Slot})
	g.owned.Go(func() { g.watch(s, proc, nil) })
}

// executorOf finds the executor of a slot: in the journal, in the slot's
// directory, or, if its start was noted nowhere, among the processes. Started
// says that there may have been one, dead or alive: where a start file lies, a
// second executor is never started, since the guardian of the first may live.
func (g *gang) executorOf(k backend.Slot) (n Native, started bool) {
	if json.Unmarshal(k.Native, &n) == nil && n.PID > 0 {
		return n, true
	}
	if readJSON(filepath.Join(g.slotDir(k.ID), nativeFile), &n) == nil && n.PID > 0 {
		return n, true
	}
	start := filepath.Join(g.slotDir(k.ID), startFile)
	if _, err := os.Stat(start); err != nil {
		return Native{}, false
	}
	n, err := native(processWith(start))
	if err != nil {
		n = Native{}
	}
	return n, true
}

// processWith finds the process that was started with an argument: the leader
// of its session, as we start executors.
func processWith(arg string) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("\x00"+arg+"\x00")) {
			continue
		}
		return pid
	}
	return 0
}

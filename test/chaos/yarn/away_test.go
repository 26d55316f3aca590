//go:build chaos

package yarn

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/test/chaos/record"
)

// The NameNode is away for half a minute, and with it the journal: executors are
// answered, training goes on, nothing is decided; then the journal goes on, too.
// The coordinator's log speaks of it; executors only say that output is kept later.
func TestChaosYARNNameNodeIsAwayForLong(t *testing.T) {
	w := newWorld(t)
	j := w.begin(t, nil, rand.New(rand.NewPCG(*seed, 7)), &results{})
	defer j.close()
	j.trains(5)
	before, begin := j.now(), time.Now()
	j.struck, j.release = func() {}, func() {}
	for _, nn := range j.daemons("nn") {
		j.can(j.cluster.Kill(t.Context(), nn))
	}
	rest(t.Context(), 30*time.Second)
	if made := len(j.steps()); record.Pause(j.steps(), begin) > 5*time.Second || made < 100 {
		t.Errorf("training did not go on: %d steps, longest pause %s", made, record.Pause(j.steps(), begin))
	}
	for _, nn := range j.daemons("nn") {
		j.can(j.cluster.Start(t.Context(), nn))
	}
	j.can(errors.Join(j.cluster.Promote(t.Context()), j.cluster.Wait(t.Context())))
	until(t, "the journal goes on", 300*time.Millisecond, func() bool { v, ok := j.view(j.id); return ok && v.Seq > before.Seq })
	j.trains(5)
	j.same(before)
	if v := j.now(); v.Term != before.Term {
		t.Errorf("term %d, was %d: the coordinator was to wait", v.Term, before.Term)
	}
	out, said, err := j.muster("events", j.id)
	if err != nil || strings.Contains(out, "silent") || strings.Contains(out, "lost") {
		t.Errorf("events: %v\n%s%s", err, out, said)
	}
	j.logs()
	j.finish(nil)
}

// logs checks what the containers' logs say of a NameNode that was away.
func (j *journey) logs() {
	j.t.Helper()
	for _, p := range j.processes(j.app) {
		text, err := os.ReadFile(filepath.Join(j.cluster.Dir, "data", p.node, "log", j.app, p.container, "stderr"))
		switch log := string(text); {
		case err != nil:
			j.t.Error(err)
		case p.coordinator() && (!strings.Contains(log, "storage does not answer") || !strings.Contains(log, "storage has answered")):
			j.t.Errorf("the coordinator's log does not say that the journal waits:\n%s", log)
		case p.executor() && (strings.Contains(log, "no link") || strings.Contains(log, "level=ERROR")):
			j.t.Errorf("an executor was not answered:\n%s", log)
		}
	}
}

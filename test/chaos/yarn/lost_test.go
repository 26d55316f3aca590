//go:build chaos

package yarn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
)

const alone = `name: alone
queue: ml
workdir: none
native: {yarn: {%sam: {node_label: ""}, node_label: batch}}
roles: {hold: {memory: 256MiB, command: "exec sleep 600", on_failure: stop}}
`

// Where the policy is to stop, the verdict on a job whose node was lost names that
// node, and the journal says when: not later than the cluster is configured to
// notice it.
func TestChaosYARNALostNodeIsNamed(t *testing.T) {
	w := newWorld(t)
	j := &journey{world: w, t: t, r: rand.New(rand.NewPCG(*seed, 8)), res: &results{}, stage: t.TempDir(), struck: func() {}}
	j.life, j.end = context.WithCancel(t.Context())
	defer j.close()
	write(t, filepath.Join(j.stage, "job.yaml"), fmt.Sprintf(alone, w.keys()))
	j.id, j.app = w.submit(t, filepath.Join(j.stage, "job.yaml"))
	j.follower = j.follow()
	until(t, "the task runs", look, func() bool { v, ok := w.view(j.id); return ok && v.State == "running" })
	id, err := j.cluster.Node("nm4")
	j.can(err)
	begin := time.Now()
	j.lose("nm4")
	o := j.follower.outcome(j)
	if o.State != event.Failed || o.Class != event.ClassLost || !strings.Contains(o.Text, id) || !strings.Contains(o.Text, "lost") {
		t.Errorf("verdict %+v, want one that names %s as lost", o, id)
	}
	out, said, err := j.muster("events", j.id)
	if err != nil {
		t.Fatalf("events: %v: %s", err, said)
	}
	var at time.Time
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "verdict.reached" {
			at, err = time.ParseInLocation(time.DateTime+".000", f[0]+" "+f[1], time.Local)
			j.can(err)
		}
	}
	if most := j.expiry()*4/3 + slack; at.Before(begin) || at.Sub(begin) > most {
		t.Errorf("verdict at %s, want it within %s of %s:\n%s", at, most, begin, out)
	}
	t.Logf("%s after %.1f s: %s", o.State, at.Sub(begin).Seconds(), o.Text)
	for _, l := range j.left() {
		t.Errorf("left behind: %s", l)
	}
}

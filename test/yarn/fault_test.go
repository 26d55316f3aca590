//go:build hadoop

package yarn

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/session"
)

// job of four tasks, each of which has something happen to it in its first start.
const faulty = `
name: faults
queue: ml
workdir: none
memory: 256MiB
on_failure: restart
restarts: 1
restart_scope: task
native: {yarn: {roles: {label: {node_label: batch}, disk: {node_label: gpu}}}}
command: '[ "$MUSTER_EPOCH" -gt 1 ] || { echo begun; exec sleep 600; }'
roles:
  memory: {command: '[ "$MUSTER_EPOCH" -gt 1 ] || exec python3 -c "x = bytearray(700 << 20); import time; time.sleep(600)"'}
  killed: {}
  label: {command: 'trap "exit 0" USR1; echo begun; while :; do sleep 0.1; done'}
  disk: {}
`

// What YARN does to containers is told apart, by what it says and by whose fault
// it was: the disks of a node cost no restart, and the node is avoided until it is
// well.
func TestSecureContainerFaultsAreToldApart(t *testing.T) {
	w, root := newWorldHere(t, "alice"), newWorldHere(t, "root")
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(faulty), 0o600); err != nil {
		t.Fatal(err)
	}
	id := w.submit(file)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.must("events", id))
		}
	})
	w.until(id, "running, or over its memory", func(v view) bool {
		for _, x := range v.Tasks {
			if x.Task.Role != "memory" && x.State != "running" && x.State != "ready" {
				return false
			}
		}
		return len(v.Tasks) > 0
	})
	slots := map[string]string{}
	for _, x := range w.status(id).Tasks {
		slots[x.Task.Role] = x.Slot
	}
	gone := func(role string) {
		t.Helper()
		w.eventually("nothing is left of the slot of "+role, func() bool {
			for _, e := range w.facts(id) {
				if b, ok := e.Body.(*event.SlotGone); ok && b.Slot == slots[role] {
					return true
				}
			}
			return false
		})
	}
	heal := breakDisks(t, filepath.Join(filepath.Dir(w.conf), "data", "nm3", "local"))
	root.signals(slots["killed"])
	labelled := w.nodeOf(id, "label")
	root.label(labelled, "")
	t.Cleanup(func() { root.label(labelled, "batch") })
	gone("disk")
	heal()
	gone("killed")
	gone("memory")
	// YARN 3.5 lets what runs on a node go on when the node gets another label.
	if x := w.status(id); x.Tasks[slices.IndexFunc(x.Tasks, func(v session.TaskView) bool { return v.Task.Role == "label" })].Incarnation != 1 {
		t.Errorf("the task whose node got another label was started again: %+v", x.Tasks)
	}
	root.label(labelled, "batch")
	w.must("signal", id, "USR1", "--role", "label")
	if o := w.wait(id); o.State != event.Succeeded {
		t.Errorf("%+v, want success after a restart of each", o)
	}
	ends := w.ends(id)
	for role, want := range map[string]struct {
		class event.Class
		says  string
	}{
		"memory": {event.ClassMemory, `(MB|GB|MiB) of 256 ?Mi?B`},
		"killed": {event.ClassLost, `an administrator, had YARN send SIGKILL to its container on \S+ \(FORCEFUL_SHUTDOWN\)`},
		"label":  {event.ClassNone, ""},
		"disk":   {event.ClassLost, `its node \S+ became unhealthy: .*local-dirs`},
	} {
		x, ok := ends[role+"/0.1"]
		if !ok {
			t.Errorf("%s: its first start has no end", role)
		}
		if x.Class != want.class || !regexp.MustCompile(want.says).MatchString(x.Text) {
			t.Errorf("%s: %+v, want %s: %s", role, x, want.class, want.says)
		}
	}
	for _, e := range w.facts(id) {
		if b, ok := e.Body.(*event.RestartDecided); ok {
			if free := b.Cause.Role == "disk"; b.Free != free {
				t.Errorf("the restart of %s is free: %t, want %t", b.Cause, b.Free, free)
			}
		}
	}
}

// breakDisks puts a file where a node has its only directory, until heal.
func breakDisks(t *testing.T, dir string) (heal func()) {
	t.Helper()
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	healed := false
	heal = func() {
		if healed {
			return
		}
		healed = true
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
		if err := os.Rename(away, dir); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(heal)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return heal
}

// nodeOf is where a role's task runs.
func (w *world) nodeOf(id, role string) string {
	w.t.Helper()
	for _, x := range w.status(id).Tasks {
		if x.Task.Role == role {
			return x.Node
		}
	}
	w.t.Fatalf("%s: no task of %s", id, role)
	return ""
}

// signals kills a container as "yarn container -signal ID FORCEFUL_SHUTDOWN" does.
func (w *world) signals(slot string) {
	w.t.Helper()
	b := w.backend()
	if _, err := b.Find(w.t.Context(), "m-aaaaaaaaaa"); err == nil { // logs in
		w.t.Fatal("a job that nobody submitted is known")
	}
	rm, err := hadoop.NewRM(b.Conf, b.Login.RM())
	if err != nil {
		w.t.Fatal(err)
	}
	defer rm.Close()
	id, err := hadoop.ParseContainer(slot)
	if err == nil {
		err = rm.Signal(w.t.Context(), id, yarnpb.SignalCommand_FORCEFUL_SHUTDOWN)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// label gives a node another label, or none.
func (w *world) label(node, label string) {
	w.t.Helper()
	b := w.backend()
	client := cmp.Or(b.Login.HTTP(), http.DefaultClient)
	labels := "[]"
	if label != "" {
		labels = fmt.Sprintf("[%q]", label)
	}
	body := fmt.Sprintf(`{"nodeToLabels":[{"nodeId":%q,"labels":%s}]}`, node, labels)
	// Also when the test is over: the next one needs the label.
	req, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), http.MethodPost,
		w.web()+"/ws/v1/cluster/replace-node-to-labels?user.name="+w.user, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: the label of %s cannot be changed: %s", w.user, node, resp.Status)
	}
}

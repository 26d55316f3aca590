//go:build hadoop

package yarn

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/storage"
)

// A job that stepped aside is submitted again with its old ticket, once, however
// many tend it; and its journal is sealed when its coordinator cannot live.
func TestKeep(t *testing.T) {
	b := newClient(t, "alice", "exit 3")
	p := rolePlan("alice", "ml", map[string]any{"node_label": "batch", "max_attempts": 1.0}, roleOfSize(1, 64))
	h := newHolder(t, b, p)
	aside := Aside{App: h.app.String(), Ticket: h.app.String(), TicketTime: time.UnixMilli(b.mustReport(t, h.ref).GetLaunchTime()),
		Partitions: []string{"batch"}, Head: "application_1_0001", At: time.Now(), Reason: "stepped aside for application_1_0001"}
	data, err := json.Marshal(aside)
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.PublishBytes(t.Context(), b.fs, JobDir(h.ref.Dir).Aside(1), modeData, data); err != nil {
		t.Fatal(err)
	}
	if err := h.master.Finish(t.Context(), yarnpb.FinalStatus_APP_KILLED, aside.Reason, ""); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Status(t.Context(), h.ref); err != nil || s.Phase != backend.PhaseQueued {
		t.Errorf("a job that stepped aside is %+v, %v", s, err)
	}
	if r, err := b.Explain(t.Context(), h.ref); err != nil || len(r) != 1 || r[0].Code != reasonAside {
		t.Errorf("explained by %+v, %v", r, err)
	}
	var g errgroup.Group
	for range 3 {
		g.Go(func() error { return b.Keep(t.Context(), h.ref) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	apps, err := b.rm.Applications(t.Context(), hadoop.Filter{Tags: []string{Tag(p.ID)}})
	if err != nil || len(apps) != 2 {
		t.Fatalf("%d applications, %v", len(apps), err)
	}
	ref, err := b.Find(t.Context(), p.ID)
	if err != nil || ref.Native == h.ref.Native {
		t.Fatalf("%+v, %v", ref, err)
	}
	if tags := b.mustReport(t, ref).GetTags(); !slices.Contains(tags, TicketTag(h.app.String())) {
		t.Errorf("it lost its place: tags %q", tags)
	}
	over, err := sealed(t.Context(), b.fs, JobDir(ref.Dir))
	if err != nil || over == nil || over.State != event.Failed || over.Status != 70 {
		t.Errorf("sealed with %+v, %v", over, err)
	}
	if r, err := b.Explain(t.Context(), ref); err != nil || len(r) != 0 {
		t.Errorf("a job that is over waits for %+v, %v", r, err)
	}
}

// A job whose client died before it handed it in is handed in by who tends it.
func TestKeepHandsIn(t *testing.T) {
	b := newClient(t, "alice", "exit 3")
	p := newPlan("alice", 1)
	p.Native = map[string]any{Name: map[string]any{"max_attempts": 1.0}}
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	st := newStore(b.fs, b.Layout)
	dir := b.Layout.Job(p.ID)
	if err := st.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.writeJob(t.Context(), st, dir, submission(p)); err != nil {
		t.Fatal(err)
	}
	ref := backend.Ref{Job: p.ID, Dir: string(dir)}
	if r, err := b.Explain(t.Context(), ref); err != nil || len(r) != 1 || r[0].Code != reasonNotSubmitted {
		t.Errorf("explained by %+v, %v", r, err)
	}
	if err := b.Keep(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	ref, err := b.Find(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if s := b.mustReport(t, ref).GetState(); s != yarnpb.AppState_FAILED {
		t.Errorf("the application is %s", s)
	}
}

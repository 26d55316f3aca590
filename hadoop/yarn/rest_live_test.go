//go:build hadoop

package yarn

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

func TestLiveREST(t *testing.T) {
	ctx, r := liveContext(t), liveRM(t)
	id, tok := unmanaged(ctx, t, r, nil)
	m := liveMaster(t, tok)
	if _, err := m.Register(ctx, "localhost", ""); err != nil {
		t.Fatal(err)
	}
	n := NewNodes(Limits{})
	defer n.Close()
	// More than half of a node, so that none is full: a full one is not even looked at.
	size := Resource{Memory: RoundingOf(liveConf(t), "").Max.Memory * 5 / 8, VCores: 1}
	cs := gather(ctx, t, m, n, 1, &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{ask(100, 3, size)}})

	rest, err := NewREST(liveConf(t), liveUser, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	if info, err := rest.Info(ctx); err != nil || info.HAState != "ACTIVE" || info.Ahead.Abs() > 2*time.Second {
		t.Errorf("info: %+v, %v", info, err)
	}
	key := "yarn.scheduler.maximum-allocation-mb"
	if s, ok, err := rest.Setting(ctx, key); err != nil || !ok || s.Value == "" {
		t.Errorf("setting: %+v, %v, %v", s, ok, err)
	}
	if _, ok, err := rest.Setting(ctx, "no.such.key"); err != nil || ok {
		t.Errorf("a setting that is not there: %v, %v", ok, err)
	}
	if all, err := rest.Conf(ctx); err != nil || all[key] == "" {
		t.Errorf("%d settings, %v", len(all), err)
	}
	nodes, err := rest.Nodes(ctx, "RUNNING")
	if err != nil || len(nodes) == 0 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	if _, err := rest.Devices(ctx, nodes[0].HTTP, GPU); err != nil {
		t.Errorf("devices: %v", err)
	}
	s, err := rest.Scheduler(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if q := s.Find("default"); q == nil || q.Path != "root.default" || q.Running == 0 || q.Partitions[""].Max.Memory == 0 || q.Partitions[""].Pending.Memory == 0 {
		t.Errorf("queue: %+v", q)
	}
	a, err := rest.App(ctx, id)
	if err != nil || a.Used.Memory == 0 || a.Pending.Memory == 0 || len(a.Asks) != 1 || a.Asks[0].Class != 3 {
		t.Errorf("app: %+v, %v", a, err)
	}
	if _, err := rest.App(ctx, AppID{Cluster: 1, Number: 1}); status(err) != http.StatusNotFound {
		t.Errorf("an application that is not there: %v", err)
	}
	if s.Kind == "capacity" {
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		why, err := rest.AppActivities(wait, id)
		if err != nil || len(why.List) == 0 || why.List[0].App != id || why.List[0].Diagnostic == "" {
			t.Errorf("activities: %+v, %v", why, err)
		}
	}
	release := &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{ask(0, 3, size)}}
	for _, c := range cs {
		release.Release = append(release.Release, c.GetId())
	}
	if _, err := m.Allocate(ctx, release); err != nil {
		t.Error(err)
	}
}

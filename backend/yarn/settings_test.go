package yarn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
)

func TestDecode(t *testing.T) {
	p := testPlan(2, size1, map[string]any{
		"node_label": "gpu", "max_attempts": 3.0, "lifetime": "12h", "tags": []any{"Nightly", "team-a"},
		"am": map[string]any{"memory": "512MiB", "cpus": 2.0, "node_label": "batch"}, "resources": map[string]any{"licence": uint64(2)},
		"placement": map[string]any{"kind": "spread", "scope": "rack", "away_from": []any{"ps"}},
		"docker": map[string]any{"image": "pytorch:2", "mounts": []any{"/data:/data", "/out:/out:rw"}, "network": "host",
			"client_config": "hdfs:///user/alice/config.json", "delayed_removal": true},
		"log_aggregation": map[string]any{"include": ".*", "exclude": "core.*"},
		"reservation":     "reservation_1796072023316_0001", "dir": "/user/alice/m/", "shared_dir": "/tmp/g", "optional": true,
		"roles": map[string]any{"ps": map[string]any{"node_label": "batch", "resources": map[string]any{"licence": 1.0}}},
	})
	p.Roles = append(p.Roles, plan.Role{Name: "ps", Image: "ps:1"})
	got, findings := Decode(p)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	worker := RoleSettings{NodeLabel: "gpu", Resources: map[string]int64{"licence": 2},
		Placement: Placement{Kind: "spread", Scope: "rack", Away: []string{"ps"}},
		Docker: Docker{Image: "pytorch:2", Mounts: []string{"/data:/data:ro", "/out:/out:rw"}, Network: "host",
			ClientConfig: "hdfs:///user/alice/config.json", DelayedRemoval: true}}
	want := &Settings{RoleSettings: worker, MaxAttempts: 3, Lifetime: 12 * time.Hour, Tags: []string{"nightly", "team-a"},
		Coordinator: Size{Memory: 512, VCores: 2}, MasterLabel: "batch", LogInclude: ".*", LogExclude: "core.*",
		Reservation: "reservation_1796072023316_0001", Dir: "/user/alice/m", SharedDir: "/tmp/g",
		Roles: map[string]RoleSettings{"ps": {NodeLabel: "batch", Resources: map[string]int64{"licence": 1}, Docker: Docker{Image: "ps:1"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ps := worker
	ps.NodeLabel, ps.Resources, ps.Docker.Image = "batch", map[string]int64{"licence": 1}, "ps:1"
	if diff := cmp.Diff(ps, got.Role("ps")); diff != "" {
		t.Errorf("ps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(worker, got.Role("worker")); diff != "" {
		t.Errorf("worker (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"batch", "gpu"}, got.Partitions(p)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

// Everything that is wrong is told at once, each under its own path.
func TestDecodeRefuses(t *testing.T) {
	p := testPlan(1, size1, map[string]any{
		"node_lable": "gpu", "max_attempts": 0.0, "lifetime": 12.0, "tags": []any{"ü", "muster:x", 1.0}, "am": map[string]any{"memory": "512", "cpu": 1.0},
		"application_type": "SPARK", "resources": map[string]any{"memory-mb": 1.0, "licence": 1.5}, "placement": "sprea",
		"docker": map[string]any{"image": "a`id`", "mounts": []any{"data"}, "privileged": true, "client_config": "~/.docker/config.json"}, "log_aggregation": map[string]any{"include": "("}, "acls": "bob",
		"reservation": "1", "dir": "m", "shared_dir": "/", "optional": "yes",
		"roles": map[string]any{"wroker": map[string]any{}, "worker": map[string]any{"am": 1.0, "placement": map[string]any{"with": []any{"ps"}, "away_from": "worker"}}},
	})
	_, findings := Decode(p)
	var out strings.Builder
	for _, f := range findings {
		fmt.Fprintln(&out, f)
	}
	golden(t, "settings", out.String())
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"node_label":"gpu","am":{"memory":"1GiB"}}`)
	f.Add(`{"roles":{"worker":{"placement":{"with":["worker"]}}},"tags":["a"],"docker":{"mounts":["/a:/b"]}}`)
	f.Add(`[1,null,{"a":[]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return // no settings at all
		}
		p := testPlan(1, size1, nil)
		p.Native = map[string]any{Name: v}
		s, findings := Decode(p)
		if plan.Refuse(findings) != nil {
			return
		}
		// What is accepted can be put on the wire.
		if _, err := applicationOf(p, s, s.Partitions(p), "").proto(nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := ExecutorContainer(&AM{}, s, p, "worker", nil, nil).Proto("hdfs://nn:8020"); err != nil {
			t.Fatal(err)
		}
	})
}

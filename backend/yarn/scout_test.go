package yarn

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
)

func TestReportsInTheWordsOfTheRule(t *testing.T) {
	id := func(n int32) *yarnpb.ApplicationId { return hadoop.AppID{Cluster: 1, Number: n}.Proto() }
	s := &scout{am: &AM{User: "alice", App: "application_1_0009"}}
	for name, tc := range map[string]struct {
		report *yarnpb.ApplicationReport
		want   gang.Application
	}{
		"running and visible": {
			&yarnpb.ApplicationReport{ApplicationId: id(1), User: new("alice"), Queue: new("root.ml"), State: yarnpb.AppState_RUNNING.Enum(), Host: new("n1"),
				Progress: new(float32(0.5)), LaunchTime: new(int64(5000)), StartTime: new(int64(4000)), Priority: hadoop.PriorityOf(3),
				Tags: []string{"muster:m-1", "ticket:application_1_0000", "partitions:gpu+batch", "other"}},
			gang.Application{ID: "application_1_0001", User: "alice", Job: "m-1", Queue: "root.ml", First: "application_1_0000", Priority: 3,
				Partitions: []string{"gpu", "batch"}, Launched: time.UnixMilli(5000), State: gang.Running, Visible: true, Progress: 0.5},
		},
		"another user's, nothing to see": {
			&yarnpb.ApplicationReport{ApplicationId: id(2), User: new("bob"), State: yarnpb.AppState_RUNNING.Enum(), Host: new("N/A"), LaunchTime: new(int64(5000))},
			gang.Application{ID: "application_1_0002", User: "bob", Launched: time.UnixMilli(5000), State: gang.Running},
		},
		"another user's, with the right to view": {
			&yarnpb.ApplicationReport{ApplicationId: id(2), User: new("bob"), State: yarnpb.AppState_RUNNING.Enum(), Host: new("n2"), LaunchTime: new(int64(5000))},
			gang.Application{ID: "application_1_0002", User: "bob", Launched: time.UnixMilli(5000), State: gang.Running, Visible: true},
		},
		"an unmanaged master has no launch": {
			&yarnpb.ApplicationReport{ApplicationId: id(3), User: new("alice"), State: yarnpb.AppState_RUNNING.Enum(), LaunchTime: new(int64(-1)), StartTime: new(int64(4000))},
			gang.Application{ID: "application_1_0003", User: "alice", Launched: time.UnixMilli(4000), State: gang.Running, Visible: true},
		},
		"waits for its first master": {
			&yarnpb.ApplicationReport{ApplicationId: id(4), User: new("alice"), State: yarnpb.AppState_ACCEPTED.Enum(), CurrentAttempt: hadoop.AttemptID{Number: 1}.Proto()},
			gang.Application{ID: "application_1_0004", User: "alice", State: gang.Pending, Visible: true},
		},
		"between two masters its slots stay": {
			&yarnpb.ApplicationReport{ApplicationId: id(4), User: new("alice"), State: yarnpb.AppState_ACCEPTED.Enum(), CurrentAttempt: hadoop.AttemptID{Number: 2}.Proto(), LaunchTime: new(int64(5000))},
			gang.Application{ID: "application_1_0004", User: "alice", Launched: time.UnixMilli(5000), State: gang.Running, Away: true, Visible: true},
		},
		"over": {
			&yarnpb.ApplicationReport{ApplicationId: id(5), User: new("alice"), State: yarnpb.AppState_KILLED.Enum(), LaunchTime: new(int64(5000))},
			gang.Application{ID: "application_1_0005", User: "alice", Launched: time.UnixMilli(5000), State: gang.Over, Visible: true},
		},
		"this one, reported from before its registration": {
			&yarnpb.ApplicationReport{ApplicationId: id(9), User: new("alice"), State: yarnpb.AppState_ACCEPTED.Enum(), LaunchTime: new(int64(5000))},
			gang.Application{ID: "application_1_0009", User: "alice", Launched: time.UnixMilli(5000), State: gang.Running, Visible: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, s.application(tc.report)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A tag as it is written is a tag as it is read.
func TestPartitionsTagIsRead(t *testing.T) {
	s := &scout{am: &AM{}}
	for _, labels := range [][]string{{"gpu"}, {"", "gpu"}, {"a", "b"}} {
		a := s.application(&yarnpb.ApplicationReport{Tags: []string{PartitionTag(labels), TicketTag("application_1_0001"), Tag("m-7")}})
		if diff := cmp.Diff(labels, a.Partitions); diff != "" || a.First != "application_1_0001" || a.Job != "m-7" {
			t.Errorf("%+v: %s", a, diff)
		}
	}
}

func TestOnlyWhatIsCountedIsCounted(t *testing.T) {
	size := Size{Memory: 100, VCores: 3}.With(GPU, 2)
	for name, tc := range map[string]struct {
		sees []string
		want gang.Size
	}{
		"all":         {nil, gang.Size{"memory-mb": 100, "vcores": 3, GPU: 2}},
		"memory only": {[]string{nameMemory}, gang.Size{"memory-mb": 100}},
	} {
		if diff := cmp.Diff(tc.want, counted(Scheduler{Sees: tc.sees}, size)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAGrantIsNeverSmallerThanTheAsk(t *testing.T) {
	got := resources(plan.Resources{CPUs: 2.5, Memory: 100 << 20, GPUs: 1}, Size{Memory: 128, VCores: 1}.With(GPU, 1))
	if diff := cmp.Diff(plan.Resources{CPUs: 2.5, Memory: 128 << 20, GPUs: 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProgressIsZeroWhileAGangGathers(t *testing.T) {
	for _, tc := range []struct {
		gathering bool
		fraction  float64
		want      float32
	}{{true, 0.7, 0}, {false, 0, 0.01}, {false, 1, 1}} {
		if got := progress(tc.gathering, tc.fraction); got != tc.want {
			t.Errorf("progress(%t, %v) = %v, want %v", tc.gathering, tc.fraction, got, tc.want)
		}
	}
}

func TestTheVerdictIsToldToTheResourceManager(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome event.Outcome
		status  yarnpb.FinalStatus
		text    string
	}{
		"success": {event.Outcome{State: event.Succeeded, Text: "all tasks succeeded"}, yarnpb.FinalStatus_APP_SUCCEEDED, "succeeded: all tasks succeeded"},
		"failure": {event.Outcome{State: event.Failed, Status: 3, Text: "worker/1 exited with 3", Hint: "see its log"}, yarnpb.FinalStatus_APP_FAILED,
			"failed: worker/1 exited with 3 (status 3)\nhint: see its log"},
		"stopped":   {event.Outcome{State: event.Stopped, Status: 130, Text: "stopped by alice"}, yarnpb.FinalStatus_APP_KILLED, "stopped: stopped by alice (status 130)"},
		"timed out": {event.Outcome{State: event.TimedOut, Status: 124}, yarnpb.FinalStatus_APP_FAILED, string(event.TimedOut) + " (status 124)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := finalStatus(tc.outcome); got != tc.status {
				t.Errorf("%v, want %v", got, tc.status)
			}
			if diff := cmp.Diff(tc.text, verdict(tc.outcome)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodesOfAPartitionThatIsShared(t *testing.T) {
	s := &scout{am: &AM{Scheduler: Scheduler{HostPort: true}}, exclusive: map[string]bool{"gpu": true, "batch": false}}
	node := func(port int32, labels ...string) *yarnpb.NodeReport {
		return &yarnpb.NodeReport{NodeId: &yarnpb.NodeId{Host: new("h"), Port: new(port)}, Rack: new("/r"), Labels: labels,
			Capability: Size{Memory: 10, VCores: 2}.Proto(), Used: Size{Memory: 4, VCores: 1}.Proto()}
	}
	size := func(m, c int64) gang.Size { return gang.Size{"memory-mb": m, "vcores": c} }
	want := []gang.Node{
		{Name: "h:1", Rack: "/r", Capability: size(10, 2), Used: size(4, 1)},
		{Name: "h:2", Rack: "/r", Capability: size(10, 2), Used: size(4, 1), Partition: "gpu"},
		{Name: "h:3", Rack: "/r", Capability: size(10, 2), Used: size(4, 1), Partition: "batch", Shared: true},
	}
	if diff := cmp.Diff(want, s.nodesOf([]*yarnpb.NodeReport{node(1), node(2, "gpu"), node(3, "batch")})); diff != "" {
		t.Error(diff)
	}
}

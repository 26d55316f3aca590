package plan_test

import (
	"testing"

	"github.com/muster-project/muster/plan"
)

func TestAFileOfTheClusterIsNoneOfThisMachine(t *testing.T) {
	for source, want := range map[string]bool{"hdfs:///data/x": true, "s3://b/x": true, "/data/x": false, "x": false, "file:///data/x": false} {
		f := plan.File{Source: source}
		if f.Remote() != want || (f.Key() != "") != want {
			t.Errorf("%s: remote %t, key %q; want remote %t", source, f.Remote(), f.Key(), want)
		}
		f.Blob = "abc"
		if f.Remote() || f.Key() != "abc" {
			t.Errorf("%s, staged: remote %t, key %q", source, f.Remote(), f.Key())
		}
	}
}

func TestATasksDirectoryNamesIt(t *testing.T) {
	for _, id := range []plan.TaskID{{Role: "worker", Index: 3}, {Role: "data-loader", Index: 0}} {
		if got, err := plan.ParseTaskDir(id.Dir()); err != nil || got != id {
			t.Errorf("%s: %v, %v", id.Dir(), got, err)
		}
	}
	for _, s := range []string{"", "worker", "-3", "worker-", "worker-x", "worker--1x"} {
		if got, err := plan.ParseTaskDir(s); err == nil {
			t.Errorf("%q was read as %v", s, got)
		}
	}
}

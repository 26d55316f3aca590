package cli

import (
	"testing"

	"github.com/muster-project/muster/backend"
)

// A gang that was preempted counts as running for its cluster, and waits.
func TestWhoseWordsSayWhyAJobWaits(t *testing.T) {
	for name, c := range map[string]struct {
		cluster []backend.Reason
		want    bool
	}{
		"the cluster knows of nothing":     {nil, true},
		"nothing is in its way":            {[]backend.Reason{{Code: "starting"}}, true},
		"the cluster knows why it waits":   {[]backend.Reason{{Code: "cluster_full"}}, false},
		"the cluster knows several causes": {[]backend.Reason{{Code: "starting"}, {Code: "am_share"}}, false},
	} {
		if got := gathering(c.cluster); got != c.want {
			t.Errorf("%s: the coordinator's own words count: %t, want %t", name, got, c.want)
		}
	}
}

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The executor runs in every slot of every job: what it links is paid for
// there. Each ban has its reason.
func TestImports(t *testing.T) {
	banned := map[string]string{
		"net/http":                                   "the executor speaks wire alone; HTTP adds megabytes and memory",
		"github.com/spf13/cobra":                     "the command line for people lives in cli",
		"k8s.io/":                                    "no Kubernetes client outside of backend/kubernetes",
		"modernc.org/sqlite":                         "the index of histories lives in history",
		"github.com/prometheus/":                     "metrics are the portal's",
		"github.com/jcmturner/":                      "Kerberos stays in the coordinator; tasks have tokens",
		"google.golang.org/grpc":                     "the link is one TLS connection with frames",
		"github.com/invopop/":                        "schemas are made in cli",
		"github.com/muster-project/muster/framework": "the executor knows no framework",
		"github.com/muster-project/muster/backend":   "the executor knows no backend",
		"github.com/muster-project/muster/session":   "decisions are the coordinator's",
		"github.com/muster-project/muster/history":   "the journal is the coordinator's",
		"github.com/muster-project/muster/portal":    "no pages in the executor",
		"github.com/muster-project/muster/cli":       "no verbs in the executor",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		for prefix, why := range banned {
			if path == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/") {
				t.Errorf("%s is linked: %s", path, why)
			}
		}
	}
}

//go:build hadoop

package yarn

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// beside makes the world of one more user with a ticket of their own.
func (w *world) beside(user string) *world {
	w.t.Helper()
	c, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		w.t.Fatal(err)
	}
	cache := filepath.Join(w.t.TempDir(), "cache")
	if err := c.Ticket(w.t.Context(), user, cache, 0); err != nil {
		w.t.Fatal(err)
	}
	other := newWorldOf(w.t, user)
	other.env = []string{"KRB5CCNAME=FILE:" + cache}
	return other
}

// Where everybody proves who they are: a group of the job's list sees it, who
// administers its queue acts on it, and nobody else does either. Groups are those
// of the NameNode.
func TestSecureOthersSeeAndAct(t *testing.T) {
	w := newSecureWorld(t, "alice")
	dave, carol, gateway := w.beside("dave"), w.beside("carol"), w.beside("gateway")
	id := w.submit("-N", "1", "--memory", "256MiB", "--workdir", "none", "-q", "ml", "--set", "acls.view=[group:research]", "--", "bash", "-c", loop)
	w.until(id, "printing", func(view) bool { return strings.Contains(w.logs(id), "hello") })

	dave.sees(id, "running", "hello from task/0")
	dave.refused(id, "act on", "alice", "stop")
	gateway.refused(id, "see", "alice", "status", "logs")
	gateway.refused(id, "act on", "alice", "stop --now")

	// The page asks nobody for a proof: the ResourceManager's proxy has.
	ref, err := w.backend().Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the ResourceManager knows of the page", func() bool {
		page, err := w.backend().Page(t.Context(), ref)
		return err == nil && page != ""
	})
	page, err := w.backend().Page(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		*world
		status int
	}{{w, http.StatusOK}, {dave, http.StatusOK}, {carol, http.StatusOK}, {gateway, http.StatusForbidden}} {
		b := tc.backend()
		if own, err := b.Page(t.Context(), ref); err != nil || own != page && tc.status == http.StatusOK {
			t.Errorf("%s: the page is at %q, %v; want %s", tc.user, own, err, page)
		}
		client, query := b.Introduce()
		for _, what := range []string{"", "job.json", "logs/task/0/1/0.out"} {
			if status, text := tc.fetch(client, page+what+"?"+query.Encode()); status != tc.status {
				t.Errorf("%s, %q: status %d, want %d: %.300s", tc.user, what, status, tc.status, text)
			}
		}
	}

	carol.must("stop", "--on", "yarn", id)
	if o := w.wait(id); o.State != event.Stopped || o.Text != "stopped by carol" {
		t.Errorf("%+v", o)
	}
	dave.sees(id, "stopped", "hello from task/0")
}

// A queue's administrator may end at the ResourceManager what no letter reaches;
// the journal tells who did.
func TestSecureKilledByTheQueuesAdministrator(t *testing.T) {
	w := newSecureWorld(t, "alice")
	carol := w.beside("carol")
	id := w.submit("-N", "1", "--memory", "256MiB", "--workdir", "none", "-q", "ml", "--", "bash", "-c", loop)
	w.until(id, "running", running)
	carol.kills(id, "the queue is needed")
	if o := w.wait(id); o.State != event.Stopped || o.Text != "killed at the resource manager by carol: the queue is needed" {
		t.Errorf("%+v", o)
	}
}

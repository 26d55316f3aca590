//go:build hadoop

package yarn

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	backend "github.com/muster-project/muster/backend/yarn"
	coord "github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// loop is a task that goes on until somebody stops it, and tells of signals.
const loop = `trap 'echo got usr1' USR1; echo "hello from $MUSTER_TASK"; while :; do sleep 0.2; done`

// Alice's job may be seen by bob, and carol may act on it, too; eve may nothing.
// Each of them comes from a machine that knows nothing of the job.
func TestOthersSeeAndActAsTheJobAllows(t *testing.T) {
	w := newWorld(t)
	bob, carol, eve := newWorldOf(t, "bob"), newWorldOf(t, "carol"), newWorldOf(t, "eve")
	id := w.submit("-N", "1", "--memory", "256MiB", "--workdir", "none", "--set", "acls.view=bob", "--set", "acls.modify=[carol]", "--", "bash", "-c", loop)
	w.until(id, "running", running)
	w.until(id, "printing", func(view) bool { return strings.Contains(w.logs(id), "hello") })

	eve.refused(id, "see", "alice", "status", "logs", "events", "explain", "top")
	eve.refused(id, "act on", "alice", "stop", "stop --now")
	eve.refused(id, "see", "alice", "wait")
	for _, other := range []*world{bob, carol} {
		other.sees(id, "running", "hello from task/0")
	}
	bob.refused(id, "act on", "alice", "stop", "stop --now")
	if _, said, status := bob.muster("signal", "--on", "yarn", id, "USR1"); status != 69 || !strings.Contains(said, id+": bob may not act on it: it is alice's job") {
		t.Errorf("bob, signal: status %d, %s", status, said)
	}
	w.seesPage(id, "alice", "bob", "carol", "root")
	w.seesPageAlone(id)

	carol.must("signal", "--on", "yarn", id, "USR1")
	w.eventually("carol's signal reaches the task", func() bool { return strings.Contains(w.logs(id), "got usr1") })
	if out := w.must("events", id); !strings.Contains(out, "by carol") {
		t.Errorf("whose the signal was:\n%s", out)
	}
	carol.must("stop", "--on", "yarn", id)
	if o := w.wait(id); o.State != event.Stopped || o.Text != "stopped by carol" {
		t.Errorf("%+v", o)
	}
	bob.sees(id, "stopped", "got usr1")
	eve.refused(id, "see", "alice", "status", "logs")
}

// Whom no list names may do what YARN lets administrators do. What the resource
// manager ended without the coordinator is told with the name of who asked.
func TestAdministratorsSeeAndActOnEveryJob(t *testing.T) {
	w := newWorld(t)
	root, eve := newWorldOf(t, "root"), newWorldOf(t, "eve")
	id := w.submit("-N", "1", "--memory", "256MiB", "--workdir", "none", "--", "bash", "-c", loop)
	w.until(id, "printing", func(view) bool { return strings.Contains(w.logs(id), "hello") })
	root.sees(id, "running", "hello from task/0")
	eve.refused(id, "see", "alice", "status", "logs")
	w.seesPage(id, "alice", "root")

	root.kills(id, "")
	if o := w.wait(id); o.State != event.Stopped || o.Text != "killed at the resource manager by root" {
		t.Errorf("%+v", o)
	}
}

// backend is the cluster as the world's user calls it.
func (w *world) backend() *backend.Backend {
	w.t.Helper()
	b := backend.New(backend.At(w.conf, backend.Who{Account: w.user, Getenv: func(name string) string {
		for _, kv := range w.env {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return os.Getenv(name)
	}}))
	w.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return b
}

// kills has the resource manager end a job in the name of the world's user.
func (w *world) kills(id, why string) {
	w.t.Helper()
	b := w.backend()
	ref, err := b.Find(w.t.Context(), id) // logs in
	if err != nil {
		w.t.Fatal(err)
	}
	app, err := hadoop.ParseApp(ref.Native)
	if err != nil {
		w.t.Fatal(err)
	}
	rm, err := hadoop.NewRM(b.Conf, b.Login.RM())
	if err != nil {
		w.t.Fatal(err)
	}
	defer rm.Close()
	if err := rm.Kill(w.t.Context(), app, why); err != nil {
		w.t.Fatal(err)
	}
}

// refused says that verbs are refused to a world's user with one clear sentence.
func (w *world) refused(id, what, owner string, verbs ...string) {
	w.t.Helper()
	for _, verb := range verbs {
		out, said, status := w.muster(append(strings.Fields(verb), "--on", "yarn", id)...)
		want := "muster: " + id + ": " + w.user + " may not " + what + " it: it is " + owner + "'s job\nhint: " + owner + " names who else may, by acls."
		if status != 69 || !strings.HasPrefix(said, want) || strings.Contains(out, "is told to stop") {
			w.t.Errorf("%s, %s: status %d\n%s%swant %s", w.user, verb, status, out, said, want)
		}
	}
}

// sees says that a world's user sees a job of somebody else's in this state, what
// it printed, and what happened to it.
func (w *world) sees(id, state, printed string) {
	w.t.Helper()
	var v view
	if err := json.Unmarshal([]byte(w.must("status", "--on", "yarn", "-o", "json", id)), &v); err != nil || v.State != state || v.User != "alice" {
		w.t.Errorf("%s sees %+v, %v; want it %s", w.user, v.View, err, state)
	}
	if out := w.logs("--on", "yarn", id); !strings.Contains(out, printed) {
		w.t.Errorf("%s reads %q, want %q", w.user, out, printed)
	}
	if out := w.must("events", "--on", "yarn", id); !strings.Contains(out, "task.started") {
		w.t.Errorf("%s: events:\n%s", w.user, out)
	}
	if out := w.must("ps", "-a", "-o", "name", "--on", "yarn"); strings.Contains(out, id) {
		w.t.Errorf("%s has it among their own jobs:\n%s", w.user, out)
	}
}

// seesPage asks for the page through the resource manager's proxy, as browsers do.
func (w *world) seesPage(id string, people ...string) {
	w.t.Helper()
	page := strings.TrimSuffix(w.progressing(id).Tracking, "/")
	for _, user := range append(people, "eve", "nobody") {
		want := http.StatusForbidden
		if slices.Contains(people, user) {
			want = http.StatusOK
		}
		for _, what := range []string{"/", "/job.json", "/usage.json", "/logs/task/0/1/0.out"} {
			if status, text := w.fetch(http.DefaultClient, page+what+"?user.name="+user); status != want {
				w.t.Errorf("%s, %s: status %d, want %d: %.200s", user, what, status, want, text)
			}
		}
	}
}

func (w *world) fetch(c *http.Client, address string) (status int, text string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// seesPageAlone goes past the proxy, from an address that is not the proxy's: a
// name is not believed there, and only the key from the job's directory opens.
func (w *world) seesPageAlone(id string) {
	w.t.Helper()
	in, err := w.backend().FS().Open(w.t.Context(), w.status(id).Dir+"/endpoint/000001", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer in.Close()
	var end coord.Endpoint
	if err := json.NewDecoder(in).Decode(&end); err != nil || end.Page == "" || end.Key == "" {
		w.t.Fatalf("endpoint %+v, %v", end, err)
	}
	u, err := url.Parse(end.Page)
	if err != nil {
		w.t.Fatal(err)
	}
	elsewhere := &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
			return d.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", u.Port()))
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer elsewhere.CloseIdleConnections()
	for name, tc := range map[string]struct {
		header, value string
		status        int
	}{
		"a name":      {"Cookie", "proxy-user=alice", http.StatusFound},
		"the key":     {"Authorization", "Bearer " + end.Key, http.StatusOK},
		"another key": {"Authorization", "Bearer x", http.StatusFound},
	} {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, end.Page+"job.json", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set(tc.header, tc.value)
		resp, err := elsewhere.Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		resp.Body.Close()
		if want := "/proxy/redirect/" + w.app(id).ID + "/job.json"; resp.StatusCode != tc.status || tc.status == http.StatusFound && !strings.HasSuffix(resp.Header.Get("Location"), want) {
			w.t.Errorf("%s from elsewhere: %s, sent to %q; want %d", name, resp.Status, resp.Header.Get("Location"), tc.status)
		}
	}
}

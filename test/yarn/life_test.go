//go:build hadoop

package yarn

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	backend "github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/test/train"
)

// A job is watched and steered by its id, during and after the run, with no
// command of Hadoop's.
func TestAJobIsWatchedAndSteeredWithoutHadoopsCommands(t *testing.T) {
	w := newWorld(t)
	id := w.submit("-N", "2", "--memory", "256MiB", "--name", "watched", "--workdir", "none", "--",
		"bash", "-c", `trap 'echo got usr1' USR1; echo "hello from $MUSTER_TASK"; while :; do sleep 0.2; done`)
	w.until(id, "running", running)
	if out := w.logs(id); strings.Count(out, "hello from task/") != 2 {
		t.Errorf("logs while it runs:\n%s", out)
	}
	if out := w.must("top", id); strings.Count(out, "task/") != 2 || !strings.Contains(out, "MiB") {
		t.Errorf("top:\n%s", out)
	}
	if out := w.must("ps"); !strings.Contains(out, id) || !strings.Contains(out, "running") {
		t.Errorf("ps:\n%s", out)
	}
	// From a machine that has no note of it, the cluster itself is asked.
	elsewhere := newWorld(t)
	if out := elsewhere.must("ps", "--on", "yarn"); !strings.Contains(out, id) {
		t.Errorf("ps --on yarn from elsewhere:\n%s", out)
	}
	if out := elsewhere.must("status", "--on", "yarn", id); !strings.Contains(out, "running") {
		t.Errorf("status --on yarn from elsewhere:\n%s", out)
	}
	if out := w.must("explain", id); !strings.Contains(out, "does not wait") {
		t.Errorf("explain:\n%s", out)
	}
	w.must("signal", id, "USR1")
	w.eventually("the signal reaches both tasks", func() bool { return strings.Count(w.logs(id), "got usr1") == 2 })
	w.must("stop", id)
	if o := w.wait(id); o.State != event.Stopped || o.Status != 130 {
		t.Errorf("stopped: %+v", o)
	}
	if out := w.logs(id); strings.Count(out, "hello from task/") != 2 || strings.Count(out, "got usr1") != 2 {
		t.Errorf("logs after the end:\n%s", out)
	}
	if out := elsewhere.logs("--on", "yarn", id); strings.Count(out, "hello from task/") != 2 {
		t.Errorf("logs after the end, from elsewhere:\n%s", out)
	}
	if out := w.must("events", id); !strings.Contains(out, "job.finished") {
		t.Errorf("events:\n%s", out)
	}
}

// A verdict names the first failure, with its last words, here and at the
// ResourceManager.
func TestTheVerdictIsToldHereAndByTheResourceManager(t *testing.T) {
	w := newWorld(t)
	out, said, status := w.muster("run", "--on", "yarn", "-N", "2", "--memory", "256MiB", "--workdir", "none", "-o", "json", "--",
		"bash", "-c", `if [ $MUSTER_INDEX = 1 ]; then echo "no such dataset" >&2; exit 7; fi; sleep 60`)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		t.Fatalf("%v: %q\n%s", err, out, said)
	}
	if status != 7 || end.Outcome.Task.String() != "task/1" || end.Outcome.Status != 7 {
		t.Errorf("status %d, %+v", status, end.Outcome)
	}
	app := w.app(end.ID)
	if app.Final != "FAILED" || !strings.Contains(app.Diagnostics, "task/1") || !strings.Contains(app.Diagnostics, "no such dataset") {
		t.Errorf("the ResourceManager says %s: %s", app.Final, app.Diagnostics)
	}
}

// application is what the ResourceManager says of a job's newest one.
type application struct {
	ID          string  `json:"id"`
	User        string  `json:"user"`
	State       string  `json:"state"`
	Final       string  `json:"finalStatus"`
	Diagnostics string  `json:"diagnostics"`
	Tracking    string  `json:"trackingUrl"`
	Progress    float64 `json:"progress"`
	Type        string  `json:"applicationType"`
	Started     int64   `json:"startedTime"`
}

func (w *world) app(id string) application {
	w.t.Helper()
	var answer struct {
		Apps struct{ App []application } `json:"apps"`
	}
	w.rest("apps?applicationTags=muster:"+id, &answer)
	var newest application
	for _, a := range answer.Apps.App {
		if a.Started >= newest.Started {
			newest = a
		}
	}
	if newest.ID == "" {
		w.t.Fatalf("%s: the ResourceManager knows no application of it", id)
	}
	return newest
}

// progressing is a job's application once its progress is not 0 any more, which
// says that its gang is complete. The next heartbeat tells it.
func (w *world) progressing(id string) (app application) {
	w.t.Helper()
	w.eventually("the ResourceManager shows the progress of "+id, func() bool { app = w.app(id); return app.Progress > 0 })
	return app
}

// The page of the coordinator is reached through the ResourceManager's proxy: the
// job, its roster, its logs as they were printed.
func TestThePageIsShownThroughTheProxy(t *testing.T) {
	w := newWorld(t)
	id := w.submit("-N", "2", "--memory", "256MiB", "--workdir", "none", "--name", "paged", "--",
		"bash", "-c", `echo "<script>alert(1)</script>"; sleep 600`)
	v := w.until(id, "running", running)
	app := w.progressing(id)
	if app.Type != "MUSTER" || app.User != "alice" {
		t.Errorf("the ResourceManager says %+v", app)
	}
	page := w.get(app.Tracking)
	for _, want := range []string{"paged", "running", "task/0", "task/1", `href="logs/task/0/1/0.out"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page:\n%s", want, page)
		}
	}
	if log := w.get(strings.TrimSuffix(app.Tracking, "/") + "/logs/task/0/" + strconv.Itoa(v.Tasks[0].Incarnation) + "/0.out"); !strings.Contains(log, "<script>") {
		t.Errorf("the log through the proxy: %q", log)
	}
	w.must("stop", "--now", id)
	w.wait(id)
}

func (w *world) get(url string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v: %s", url, resp.Status, err, body)
	}
	return string(body)
}

// In a cluster that believes what it is told, --user is the owner.
func TestTheOwnerIsWhoUserSays(t *testing.T) {
	w := newWorld(t)
	out := w.must("run", "--on", "yarn", "--user", "bob", "--workdir", "none", "--memory", "256MiB", "-o", "name", "--", "true")
	id := strings.TrimSpace(out)
	if app := w.app(id); app.User != "bob" || app.Final != "SUCCEEDED" {
		t.Errorf("the ResourceManager says %+v", app)
	}
	if v := w.status(id); v.User != "bob" || v.State != "succeeded" {
		t.Errorf("status says %+v", v.View)
	}
}

// The coordinator is killed: the next attempt takes the job over, and the tasks
// go on as if nothing had happened.
func TestTasksOutliveTheirCoordinator(t *testing.T) {
	w := newWorld(t)
	id := w.submit("-N", "2", "--memory", "256MiB", "--workdir", "none", "--", "bash", "-c",
		`for i in $(seq 20); do echo "step $i"; sleep 0.5; done`)
	w.until(id, "running", running)
	w.kill("coordinator")
	if o := w.wait(id); o.State != event.Succeeded {
		t.Fatalf("%+v", o)
	}
	v := w.status(id)
	if v.Term < 2 {
		t.Errorf("term %d: the coordinator was not killed", v.Term)
	}
	for _, task := range v.Tasks {
		if task.Incarnation != 1 {
			t.Errorf("%s was started %d times, want once", task.Task, task.Incarnation)
		}
	}
	for i := range 20 {
		if n := len(train.All(`step `+strconv.Itoa(i+1)+`\b`, w.logs(id))); n != 2 {
			t.Fatalf("step %d was printed %d times, want twice:\n%s", i+1, n, w.logs(id))
		}
	}
}

// An executor is killed: the task is lost, named, and placed again where the job
// asks for it.
func TestALostTaskIsPlacedAgain(t *testing.T) {
	w := newWorld(t)
	id := w.submit("-N", "2", "--memory", "256MiB", "--workdir", "none", "--restarts", "1", "--set", "on_failure=restart", "--", "bash", "-c",
		`if [ -n "$MUSTER_RESTART_REASON" ]; then echo "again: $MUSTER_RESTART_REASON"; exit 0; fi; [ $MUSTER_INDEX = 0 ] || exit 0; sleep 600`)
	w.until(id, "running", func(v view) bool {
		return len(v.Tasks) == 2 && v.Tasks[0].State == "running" && v.Tasks[1].State == "succeeded"
	})
	w.kill("executor")
	if o := w.wait(id); o.State != event.Succeeded {
		t.Fatalf("%+v", o)
	}
	if out := w.logs(id); !strings.Contains(out, "again: ") {
		t.Errorf("the task does not know why it was started again:\n%s", out)
	}
}

// kill ends every process of a kind that works for this world's jobs.
func (w *world) kill(kind string) {
	w.t.Helper()
	killed := 0
	for _, line := range w.containers() {
		pid, command, _ := strings.Cut(line, ": ")
		if strings.Contains(command, "./muster coordinator") && kind == "coordinator" ||
			strings.Contains(command, "./executor container") && kind == "executor" {
			n, err := strconv.Atoi(pid)
			if err == nil && syscall.Kill(n, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		w.t.Fatalf("no %s runs", kind)
	}
}

// containers are the processes of muster in containers of this world's
// applications.
func (w *world) containers() []string {
	apps := map[string]bool{}
	for _, id := range w.ids() {
		apps[w.app(id).ID] = true
	}
	var out []string
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		command, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		place, _ := os.Readlink("/proc/" + d.Name() + "/cwd")
		for app := range apps {
			if strings.Contains(place, app) {
				out = append(out, d.Name()+": "+string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
			}
		}
	}
	return out
}

// ids are this world's jobs.
func (w *world) ids() []string {
	return strings.Fields(w.must("ps", "-a", "-o", "name"))
}

// A file that is on HDFS already is fetched by the nodes; one that is not there
// is told before anything is submitted.
func TestFilesOfTheClusterAreFetchedByTheNodes(t *testing.T) {
	w := newWorld(t)
	fsys := backend.New(backend.At(w.conf, backend.Who{User: w.user})).FS()
	path := "/tmp/muster-test-" + rand.Text()
	out, err := fsys.Create(t.Context(), path, 0o644)
	if err == nil {
		_, err = out.Write([]byte("words on HDFS\n"))
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Remove(context.WithoutCancel(t.Context()), path) }()
	id := strings.TrimSpace(w.must("run", "--on", "yarn", "--memory", "256MiB", "--workdir", "none", "--files", "hdfs://"+path+"#data/words.txt",
		"-o", "name", "--", "cat", "data/words.txt"))
	if log := w.logs(id, "--no-prefix"); log != "words on HDFS\n" {
		t.Errorf("the task read %q", log)
	}
	_, said, status := w.muster("run", "--on", "yarn", "--files", "hdfs://"+path+"x", "--", "true")
	if status != 69 || !strings.Contains(said, path+"x: is not there") {
		t.Errorf("status %d: %s", status, said)
	}
}

package page_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/page"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const payload = `<script>alert(1)</script>`

// job is a running job of which one task says evil things.
type job struct {
	view session.View
	log  func(o wire.OpenLog) (io.ReadCloser, error)
}

func (j job) View() session.View { return j.view }

func (j job) Usage() map[plan.TaskID]wire.Usage {
	return map[plan.TaskID]wire.Usage{{Role: "worker"}: {CPU: 3 * time.Second, Memory: 1 << 20, Procs: 2}}
}

func (j job) Log(_ context.Context, id plan.TaskID, o wire.OpenLog) (io.ReadCloser, error) {
	if id != (plan.TaskID{Role: "worker", Index: 0}) {
		return nil, errors.New("no such task")
	}
	return j.log(o)
}

func running() job {
	return job{
		view: session.View{ID: "m-1", Name: payload, User: "ada", State: "running", Submitted: time.Now(),
			Waiting: []string{"behind " + payload},
			Tasks: []session.TaskView{
				{Task: plan.TaskID{Role: "worker", Index: 1}, State: "running", Rank: 1, Incarnation: 2},
				{Task: plan.TaskID{Role: "worker", Index: 0}, State: "running", Rank: 0, Incarnation: 1, Node: "n1",
					Started:   time.Now(),
					Progress:  &event.Progress{Step: 3, Total: 9, StepTime: 0.0325, Values: map[string]float64{"train_loss": 0.25}},
					Published: map[string]string{"tensorboard": "http://n1:6006/", "evil": "javascript:alert(1)", "notebook": "http://n1:8888/?token=key"}},
			}},
		log: func(o wire.OpenLog) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(payload + " from " + o.Name)), nil
		},
	}
}

func get(t *testing.T, j page.Job, path string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	page.Handler(j, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w, w.Body.String()
}

func TestPageShowsTheJobAndRunsNothingOfIt(t *testing.T) {
	resp, body := get(t, running(), "/")
	if strings.Contains(body, payload) || strings.Contains(body, `href="javascript:`) {
		t.Errorf("a task's words are not escaped:\n%s", body)
	}
	for _, want := range []string{"worker/0", "n1", "3/9", "0.25", "32.5ms", "tensorboard of worker/0", `href="http://n1:8888/"`, `href="logs/worker/0/1/0.out"`, `href="logs/worker/1/2/0.err"`,
		`href="http://n1:6006/"`, "behind &lt;script&gt;", `http-equiv="refresh"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the page:\n%s", want, body)
		}
	}
	if strings.Index(body, "worker/0<") > strings.Index(body, "worker/1<") {
		t.Error("tasks are not in the order of their ranks")
	}
	if csp := resp.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %q lets a page load things", csp)
	}
}

// What will go wrong, and what is about to be taken away, is on the page.
func TestPageWarns(t *testing.T) {
	j := running()
	j.view.Warned, j.view.Preempted = []string{"tokens end " + payload}, 2
	until := time.Date(2026, 11, 30, 18, 0, 8, 0, time.UTC)
	for i := range j.view.Tasks {
		j.view.Tasks[i].Deadline, j.view.Tasks[i].Reason = until, "queue ml "+payload
	}
	_, body := get(t, j, "/")
	for _, want := range []string{"<h2>Warnings</h2><ul><li>tokens end &lt;script&gt;", "2 preemptions",
		"<li>worker/1 worker/0 told to make room until 2026-11-30 18:00:08 UTC: queue ml &lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the page:\n%s", want, body)
		}
	}
	if _, body := get(t, running(), "/"); strings.Contains(body, "Warnings") || strings.Contains(body, "reemption") {
		t.Errorf("warned of nothing:\n%s", body)
	}
	j.view.Outcome = &event.Outcome{State: event.Succeeded, Warnings: []string{"a log was cut"}}
	if _, body := get(t, j, "/"); !strings.Contains(body, "<li>a log was cut</li>") {
		t.Errorf("nothing of the verdict's warnings:\n%s", body)
	}
}

func TestPageOfAnEndedJobTellsTheVerdictAndStandsStill(t *testing.T) {
	j := running()
	j.view.State, j.view.Ended = "failed", time.Now()
	j.view.Outcome = &event.Outcome{State: event.Failed, Status: 3, Task: plan.TaskID{Role: "worker", Index: 1}, Class: event.ClassExit,
		Text: "worker/1 ended with status 3", Exit: &event.Exit{Stderr: []string{"boom " + payload}}}
	_, body := get(t, j, "/")
	for _, want := range []string{"failed: worker/1 ended with status 3", "first failure worker/1", "boom &lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the page:\n%s", want, body)
		}
	}
	if strings.Contains(body, `http-equiv="refresh"`) {
		t.Error("the page of a job that has ended is drawn again and again")
	}
}

func TestNobodyButTheOwnerSeesTheKeyOfAnAddress(t *testing.T) {
	for _, path := range []string{"/", "/job.json"} {
		if _, body := get(t, running(), path); strings.Contains(body, "token") || !strings.Contains(body, "http://n1:8888/") {
			t.Errorf("%s:\n%s", path, body)
		}
	}
	if j := running(); j.view.Tasks[1].Published["notebook"] == "" {
		t.Error("the job itself was changed")
	}
}

func TestLogsAreTextAndErrorsAreTold(t *testing.T) {
	resp, body := get(t, running(), "/logs/worker/0/1/0.out?offset=5")
	if resp.Code != http.StatusOK || body != payload+" from 0.out" || !strings.HasPrefix(resp.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("%d %s %q", resp.Code, resp.Header().Get("Content-Type"), body)
	}
	for path, want := range map[string]int{
		"/logs/worker/7/1/0.out":          http.StatusNotFound,
		"/logs/worker/x/1/0.out":          http.StatusBadRequest,
		"/logs/worker/0/1/0.out?offset=x": http.StatusBadRequest,
		"/nothing":                        http.StatusNotFound,
	} {
		if resp, _ := get(t, running(), path); resp.Code != want {
			t.Errorf("%s: %d, want %d", path, resp.Code, want)
		}
	}
}

// A log that tears must not look like one that ends.
func TestTornLogEndsTheConnection(t *testing.T) {
	j := running()
	j.log = func(wire.OpenLog) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{})), nil
	}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- page.Serve(ctx, ln, j, nil, slog.New(slog.DiscardHandler)) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + ln.Addr().String() + "/logs/worker/0/1/0.out")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil || string(got) != "half" {
		t.Errorf("read %q, %v; want half of it and an error", got, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

func TestDataForPrograms(t *testing.T) {
	if _, body := get(t, running(), "/job.json"); !strings.Contains(body, `"id":"m-1"`) {
		t.Errorf("job.json: %s", body)
	}
	if _, body := get(t, running(), "/usage.json"); !strings.Contains(body, `"memory":1048576`) {
		t.Errorf("usage.json: %s", body)
	}
}

//go:build frameworks

package train

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/session"
)

// look is what "status -o json" says, as far as these tests want it.
type look struct {
	session.View
	Addresses []session.Address `json:"addresses"`
}

// held is a job that goes on until its gate is opened.
type held struct {
	*world
	id   string
	file string // its job file
}

func (h *held) open() {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(h.file), "go"), nil, 0o666); err != nil {
		h.t.Fatal(err)
	}
}

func (w *held) status() (l look) {
	w.t.Helper()
	out, _, status := w.muster("status", w.id, "-o", "json")
	if err := json.Unmarshal([]byte(out), &l); err != nil || status != 0 {
		w.t.Fatalf("status %d: %v: %s", status, err, out)
	}
	return l
}

// await looks at a job until a condition holds.
func (w *held) await(what string, ok func(look) bool) look {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		l := w.status()
		if ok(l) {
			return l
		}
		if !l.Ended.IsZero() {
			w.t.Fatalf("%s never was; the job ended: %+v\n%s", what, l.Outcome, w.logs(w.id))
		}
		select {
		case <-deadline.C:
			w.t.Fatalf("%s never was:\n%s", what, w.logs(w.id))
		case <-again.C:
		}
	}
}

func submit(t *testing.T, python, job string) *held {
	t.Helper()
	w, dir := newWorld(t), t.TempDir()
	file := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(file, []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	out, _, status := w.muster("submit", "--python", python, file, "--set", "env.GO="+filepath.Join(dir, "go"))
	if status != 0 {
		t.Fatalf("submit: status %d", status)
	}
	return &held{w, strings.TrimSpace(out), file}
}

// page fetches an address; without an answer its status is 0.
func page(t *testing.T, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func listens(key string) func(look) bool {
	return func(l look) bool { return len(l.Addresses) == 1 && l.Addresses[0].Key == key }
}

func TestTensorBoardShowsTheCheckpointDirectoryAndGoesWithTheWork(t *testing.T) {
	w := submit(t, python(t, "notebook"), `
stop_grace: 5s
command:
- python3
- -c
- |
  import os, time
  from tensorboard.compat.proto.event_pb2 import Event
  from tensorboard.compat.proto.summary_pb2 import Summary
  from tensorboard.summary.writer.event_file_writer import EventFileWriter
  out = EventFileWriter(os.path.join(os.environ["MUSTER_CHECKPOINT_DIR"], "mine"))
  for step in range(3):
      out.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=[Summary.Value(tag="loss", simple_value=1.0 / (step + 1))])))
  out.close()
  while not os.path.exists(os.environ["GO"]):
      time.sleep(0.1)
roles:
  worker: {}
  tensorboard: {}
`)
	l := w.await("TensorBoard", listens("tensorboard"))
	url := l.Addresses[0].URL
	if status, body := page(t, url); status != http.StatusOK || !strings.Contains(body, "TensorBoard") {
		t.Errorf("%s: %d: %.200s", url, status, body)
	}
	if status, body := page(t, url+"data/runs"); status != http.StatusOK || !strings.Contains(body, `"mine"`) {
		t.Errorf("%d: its runs are %s", status, body)
	}
	if text, _, _ := w.muster("status", w.id); !strings.Contains(text, "tensorboard  "+url) {
		t.Errorf("status does not show the address:\n%s", text)
	}
	w.open()
	if _, _, status := w.muster("wait", w.id); status != 0 {
		t.Errorf("the job ended with %d", status)
	}
	if status, _ := page(t, url); status != 0 {
		t.Errorf("TensorBoard still answers: %d", status)
	}
	if left := w.status().Addresses; len(left) > 0 {
		t.Errorf("an address of a job that has ended: %v", left)
	}
}

func TestANotebookAnswersItsOwnerUntilItIsStopped(t *testing.T) {
	w := submit(t, python(t, "notebook"), "stop_grace: 10s\nroles: {notebook: {}}")
	l := w.await("the notebook", listens("notebook"))
	address, token, ok := strings.Cut(l.Addresses[0].URL, "?")
	if !ok || !strings.HasPrefix(token, "token=") {
		t.Fatalf("no token in %s", l.Addresses[0].URL)
	}
	if status, body := page(t, address+"api/contents"); status != http.StatusForbidden {
		t.Errorf("whoever has no token is answered: %d: %.200s", status, body)
	}
	if status, body := page(t, address+"api/contents?"+token); status != http.StatusOK || !strings.Contains(body, `"directory"`) {
		t.Errorf("its owner is not answered: %d: %.200s", status, body)
	}
	_, token, _ = strings.Cut(token, "=")
	said, _, _ := w.muster("logs", w.id)
	planned, _, _ := w.muster("plan", w.file)
	if strings.Contains(said, token) || !strings.Contains(planned, "JUPYTER_TOKEN=${muster.secret}") {
		t.Errorf("the token is in the log, or the plan does not say where it comes from:\n%s\n%s", said, planned)
	}
	if _, _, status := w.muster("stop", w.id); status != 0 {
		t.Errorf("stop: %d", status)
	}
	if _, _, status := w.muster("wait", w.id); status != 130 {
		t.Errorf("a notebook that was stopped ends with %d, want 130", status)
	}
}

// kerasScript learns nothing worth knowing, in 40 steps of an eighth of a second.
const kerasScript = `
import os, time
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras, numpy
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = numpy.random.RandomState(1).rand(80, 4)
class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): time.sleep(0.05)
    def on_epoch_begin(self, epoch, logs=None):
        while epoch == 3 and not os.path.exists(os.environ["GO"]): time.sleep(0.1)
model.fit(x, x.sum(1), batch_size=8, epochs=4, callbacks=[Slow()])
model.evaluate(x[:16], x[:16].sum(1), batch_size=8)
`

func TestTheBarOfKerasIsTheProgressOfTheJob(t *testing.T) {
	script, err := json.Marshal(kerasScript)
	if err != nil {
		t.Fatal(err)
	}
	w := submit(t, python(t, "tensorflow"), `command: [python3, -c, `+string(script)+"]\nenv: {TF_CPP_MIN_LOG_LEVEL: '3'}")
	at := func(step int64) func(look) bool {
		return func(l look) bool { p := l.Tasks[0].Progress; return p != nil && p.Step >= step && p.Total == 40 }
	}
	p := w.await("step 30 of 40", at(30)).Tasks[0].Progress
	if p.Step != 30 || p.Values["epoch"] < 3 || p.StepTime <= 0 || p.StepTime > 30 || p.Values["loss"] <= 0 {
		t.Errorf("after the third epoch: %+v", p)
	}
	if text, _, _ := w.muster("status", w.id); !strings.Contains(text, "75%  step 30/40") || !strings.Contains(text, "loss") {
		t.Errorf("status shows no bar:\n%s", text)
	}
	if text, _, _ := w.muster("top", w.id); !strings.Contains(text, "30/40") {
		t.Errorf("top shows no step:\n%s", text)
	}
	w.open()
	if _, _, status := w.muster("wait", w.id); status != 0 {
		t.Fatalf("status %d:\n%s", status, w.logs(w.id))
	}
	if p := w.status().Tasks[0].Progress; p.Step != 40 {
		t.Errorf("at the end: %+v", p)
	}
}

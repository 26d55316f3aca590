package executor

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/wire"
)

func TestEchoesOfAnotherTasksEndAreTold(t *testing.T) {
	tc := map[string]struct {
		lines []string
		want  bool
	}{
		"python reset":        {[]string{"ConnectionResetError: [Errno 104] Connection reset by peer"}, true},
		"python pipe":         {[]string{"BrokenPipeError: [Errno 32] Broken pipe"}, true},
		"python refused":      {[]string{"ConnectionRefusedError: [Errno 111] Connection refused"}, true},
		"gloo":                {[]string{"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1234"}, true},
		"nccl":                {[]string{"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.", "Last error:", "NCCL WARN socketProgress: Connection closed by remote peer node3"}, true},
		"tcpstore":            {[]string{"torch.distributed.DistStoreError: Socket Timeout in store connection"}, true},
		"grpc":                {[]string{"UNAVAILABLE: Socket closed"}, true},
		"tensorflow":          {[]string{"UnavailableError: failed to connect to all addresses; last error: …"}, true},
		"before a traceback":  {[]string{"RuntimeError: Broken pipe", "  in f", "  in g"}, true},
		"own bug":             {[]string{"Traceback (most recent call last):", "ZeroDivisionError: division by zero"}, false},
		"own memory":          {[]string{"torch.cuda.OutOfMemoryError: CUDA out of memory"}, false},
		"own file":            {[]string{"FileNotFoundError: [Errno 2] No such file or directory: 'x'"}, false},
		"long before the end": {append([]string{"warning: Connection reset by peer, trying again"}, strings.Split(strings.Repeat("epoch\n", 12), "\n")...), false},
		"nothing":             {nil, false},
	}
	for name, tc := range tc {
		if got := echo(tc.lines); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheVerdictOnATree(t *testing.T) {
	at := time.Unix(1700000000, 0)
	end := func(e process.Exit) process.Exit { e.At = at; return e }
	tc := map[string]struct {
		result process.Result
		stderr []string
		want   event.Exit
	}{
		"success": {process.Result{First: -1, Procs: []process.Exit{end(process.Exit{}), end(process.Exit{})}}, nil, event.Exit{At: at}},
		"exit": {process.Result{First: 1, Procs: []process.Exit{end(process.Exit{Status: 143, Signal: 15, Stopped: true}), end(process.Exit{Status: 3})}}, []string{"why"},
			event.Exit{Class: event.ClassExit, Status: 3, Proc: 1, At: at, Stderr: []string{"why"}}},
		"signal":  {process.Result{First: 0, Procs: []process.Exit{end(process.Exit{Status: 139, Signal: 11})}}, nil, event.Exit{Class: event.ClassSignal, Status: 139, Signal: "SIGSEGV", At: at}},
		"stopped": {process.Result{First: -1, Procs: []process.Exit{end(process.Exit{Stopped: true}), end(process.Exit{Status: 143, Signal: 15, Stopped: true})}}, nil, event.Exit{Class: event.ClassSignal, Status: 143, Signal: "SIGTERM", Proc: 1, Stopped: true, At: at}},
		"memory": {process.Result{First: 0, Memory: true, Peak: 4402341478, Procs: []process.Exit{end(process.Exit{Status: 137, Signal: 9, Stopped: true})}}, nil,
			event.Exit{Class: event.ClassMemory, Status: 137, Signal: "SIGKILL", At: at, Text: "used 4.1 GiB of 4 GiB"}},
		"lost":          {process.Result{First: -1, Lost: "guardian ended: signal: killed", Procs: []process.Exit{end(process.Exit{Status: 137, Signal: 9})}}, nil, event.Exit{Class: event.ClassLost, Status: 137, Signal: "SIGKILL", At: at, Text: "guardian ended: signal: killed"}},
		"did not start": {process.Result{First: 0, Procs: []process.Exit{end(process.Exit{Status: 127, Error: "x: no such file"})}}, nil, event.Exit{Class: event.ClassStart, Status: 127, At: at, Text: "x: no such file"}},
		"unkillable":    {process.Result{First: -1, Left: []int{99999999}, Procs: []process.Exit{end(process.Exit{Status: 137, Signal: 9, Stopped: true})}}, nil, event.Exit{Class: event.ClassLost, Status: 137, Signal: "SIGKILL", At: at, Text: "cannot be killed: process 99999999"}},
		"symptom":       {process.Result{First: 0, Procs: []process.Exit{end(process.Exit{Status: 1})}}, []string{"Connection reset by peer"}, event.Exit{Class: event.ClassExit, Status: 1, At: at, Symptom: true, Stderr: []string{"Connection reset by peer"}}},
		"a signal is no symptom": {process.Result{First: 0, Procs: []process.Exit{end(process.Exit{Status: 139, Signal: 11})}}, []string{"Connection reset by peer"},
			event.Exit{Class: event.ClassSignal, Status: 139, Signal: "SIGSEGV", At: at, Stderr: []string{"Connection reset by peer"}}},
	}
	for name, tc := range tc {
		if diff := cmp.Diff(tc.want, verdict(tc.result, tc.stderr, 4<<30)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAPortClashIsToldFromOtherEnds(t *testing.T) {
	ports := map[string]int{"main": 40123, "other": 123}
	tc := map[string]struct {
		line string
		port int
		name string
	}{
		"go":           {"listen tcp :40123: bind: address already in use", 40123, "main"},
		"torch":        {"The server socket has failed to listen on any local network address. port: 40123, useIpv6: false, code: -98, name: EADDRINUSE", 40123, "main"},
		"python":       {"OSError: [Errno 98] Address already in use", 0, ""},
		"another port": {"bind 6006: Address already in use", 0, ""},
		"no clash":     {"ValueError: 40123", -1, ""},
		"nothing":      {"", -1, ""},
	}
	for name, tc := range tc {
		port, held := clash([]string{"before", tc.line, "after"}, ports)
		if port != tc.port || held != tc.name {
			t.Errorf("%s: %d %q", name, port, held)
		}
	}
}

func TestTheTailOfALog(t *testing.T) {
	long := strings.Repeat("é", 2000)
	tc := map[string]struct {
		text string
		want []string
	}{
		"empty":           {"", nil},
		"no end":          {"a\nb", []string{"a", "b"}},
		"blank lines":     {"a\n\nb\n\n\n", []string{"a", "", "b"}},
		"twenty":          {strings.Repeat("x\n", 30) + "last\n", append(strings.Split(strings.Repeat("x ", 18)+"x", " "), "last")},
		"long line":       {long + "\n", []string{long[:1000] + "…"}},
		"progress bar":    {"1%\r50%\r100%\r\ndone\r\n", []string{"100%", "done"}},
		"not for display": {"a\x00\xffc\n", []string{"a␀\ufffdc"}},
	}
	for name, tc := range tc {
		path := filepath.Join(t.TempDir(), "0.err")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := tail(path)
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := tail(filepath.Join(t.TempDir(), "none")); len(got) != 0 {
		t.Errorf("no file, but %q", got)
	}
}

// F-092: a line of 200 megabytes costs neither memory nor the lines after it.
func TestF092TheTailOfALongLineIsShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.err")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(200 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\nlast"), 200<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := tail(path)
	if len(got) != 2 || len(got[0]) > 2*tailLine || got[1] != "last" {
		t.Errorf("got %d lines, %.50q", len(got), got)
	}
}

func TestReportsOfATask(t *testing.T) {
	tc := map[string]struct {
		text string
		want report
	}{
		"progress": {`{"step":1,"total":10,"loss":0.5,"text":"epoch 1"}` + "\n", report{progress: &event.Progress{Step: 1, Total: 10, Text: "epoch 1", Values: map[string]float64{"loss": 0.5}}}},
		"newest":   {"{\"step\":1}\n{\"step\":2}\n", report{progress: &event.Progress{Step: 2}}},
		"NaN": {`{"step":3,"loss":NaN,"x": -Infinity}` + "\n", report{progress: &event.Progress{Step: 3,
			Values: map[string]float64{"loss": math.NaN(), "x": math.Inf(-1)}}}},
		"words":    {`{"step":-3,"loss":"0.5","x":null,"step_time":0.25,"total":1e300}` + "\n", report{progress: &event.Progress{StepTime: 0.25}}},
		"publish":  {`{"publish":{"key":"dashboard","value":"http://x"}}` + "\n", report{published: []wire.Published{{Key: "dashboard", Value: "http://x"}}}},
		"both":     {`{"step":4,"publish":{"key":"k","value":"v"}}` + "\n", report{progress: &event.Progress{Step: 4}, published: []wire.Published{{Key: "k", Value: "v"}}}},
		"rubbish":  {"step 5\n[1]\nnull\n{\"step\":\"x\"}\n{\n\x00\xff\n", report{}},
		"no end":   {`{"step":6}`, report{}},
		"too long": {`{"text":"` + strings.Repeat("x", 100<<10) + `"}` + "\n{\"step\":7}\n", report{progress: &event.Progress{Step: 7}}},
	}
	for name, tc := range tc {
		path := filepath.Join(t.TempDir(), "r")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := (&reader{path: path}).read(false)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(report{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAReportIsReadOnceAndInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	r := &reader{path: path}
	var steps []int64
	write := func(text string, last bool) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		step := int64(-1)
		if p := r.read(last).progress; p != nil {
			step = p.Step
		}
		steps = append(steps, step)
	}
	write("{\"st", false)
	write("ep\":1}\n", false)
	write("", false)
	write("{\"step\":2}\n{\"step\":", false)
	write("3}", true) // no line end, but the task has ended
	if diff := cmp.Diff([]int64{-1, 1, -1, 2, 3}, steps); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasReadOfAReportTakesNoDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	r := &reader{path: path}
	line := `{"step":1,"text":"` + strings.Repeat("x", 1000) + "\"}\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.read(false)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if on := info.Sys().(*syscall.Stat_t).Blocks * 512; on > freeSize || info.Size() != int64(4000*len(line)) {
		t.Errorf("%d bytes on disk of %d", on, info.Size())
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"step\":2}\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if p := r.read(false).progress; p == nil || p.Step != 2 {
		t.Errorf("%+v", p)
	}
}

// A job whose journal cannot be written stands still: a time that is no number
// must not get that far, whoever says it.
func TestATimeOfAStepIsANumberOfSecondsOrNotKnown(t *testing.T) {
	for line, want := range map[string]float64{
		`{"step":1,"step_time":2.5}`: 2.5, `{"step":1,"step_time":NaN}`: 0, `{"step":1,"step_time":Infinity}`: 0,
		`{"step":1,"step_time":"NaN"}`: 0, `{"step":1,"step_time":-3}`: 0, `{"step":1,"step_time":1e999}`: 0,
	} {
		var r report
		parse([]byte(line), &r)
		if r.progress == nil || r.progress.Step != 1 || r.progress.StepTime != want {
			t.Errorf("%s: %+v", line, r.progress)
		}
	}
}

func TestATextIsNotCutWithinALetter(t *testing.T) {
	var r report
	parse([]byte(`{"text":"a`+strings.Repeat("é", textSize)+`"}`), &r)
	if !utf8.ValidString(r.progress.Text) || len(r.progress.Text) != textSize-1 {
		t.Errorf("%d bytes: %q", len(r.progress.Text), r.progress.Text[len(r.progress.Text)-4:])
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"step":1,"total":10,"loss":0.5,"text":"x","publish":{"key":"k","value":"v"}}`))
	f.Add([]byte(`{"loss":NaN}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r report
		parse(line, &r)
		if r.progress != nil && (len(r.progress.Text) > textSize || len(r.progress.Values) > valuesMost) {
			t.Error("a report beyond its bounds")
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("$A ${B} $$ ${ $")
	f.Fuzz(func(t *testing.T, text string) {
		got := expand(map[string]string{"X": text}, nil, nil)["X"]
		if !strings.Contains(text, "$") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestTasksTellOfThemselves(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.play(1, shell(`echo '{"publish":{"key":"dashboard","value":"http://x"}}' >> $MUSTER_REPORT_FILE
		echo '{"step":1,"total":2}' >> $MUSTER_REPORT_FILE; sleep 600`))
	progress := func(m wire.Message) *event.Progress {
		if m.Beat == nil {
			return nil
		}
		return m.Beat.Progress
	}
	if p := wait(d, progress); p.Step != 1 || p.Total != 2 {
		t.Errorf("progress %+v", p)
	}
	published := func(m wire.Message) *wire.Published { return m.Published }
	if p := wait(d, published); p.Key != "dashboard" || p.Value != "http://x" {
		t.Errorf("published %+v", p)
	}
	if n := len(all(d, progress)); n != 1 {
		t.Errorf("the same progress was told %d times", n)
	}
	// The next coordinator hears it too.
	d.stop()
	second := j.coordinator(2, true)
	if p := wait(second, published); p.Key != "dashboard" {
		t.Errorf("published %+v", p)
	}
	second.send(wire.Directive{Stop: &wire.Stop{Incarnation: 1, Now: true}})
	wait(second, exitOf(1))
}

// What is reported just before the end must not be lost.
func TestTheLastReportComesBeforeTheExit(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.exits(1, shell(`printf '{"step":9}' >> $MUSTER_REPORT_FILE`))
	found := false
	for _, b := range all(d, func(m wire.Message) *wire.Beat { return m.Beat }) {
		found = found || b.Progress != nil && b.Progress.Step == 9
	}
	if !found {
		t.Error("the last report is lost")
	}
}

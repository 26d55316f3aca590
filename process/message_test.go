package process

import (
	"bytes"
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestASpecificationArrivesByteForByte(t *testing.T) {
	// A file name of another encoding, and what JSON has a meaning of its own for.
	odd := "caf\xe9 \xff\x00 \u2028 <&> \"\\"
	spec := Spec{
		Procs: []Proc{
			{Argv: []string{"cat", odd}, Env: []string{"NAME=" + odd, "EMPTY="}, Dir: "/" + odd, Stdout: "/out" + odd, Stderr: "/err" + odd},
			{Argv: []string{"true"}},
		},
		MaxSize: 1 << 40, Keep: 3, Umask: 0o077, Limits: Limits{CPUSet: "0-3", Memory: 1 << 40, Cgroup: "a/b", Watch: true},
		Signal: syscall.SIGUSR1, Grace: time.Minute, Second: time.Second,
	}
	sent := spec
	sent.Guardian, sent.Hold = []string{"guardian"}, []*os.File{os.Stdin}
	var pipe bytes.Buffer
	if err := json.NewEncoder(&pipe).Encode(order{Spec: &sent}); err != nil {
		t.Fatal(err)
	}
	var got order
	if err := json.NewDecoder(&pipe).Decode(&got); err != nil {
		t.Fatal(err)
	}
	spec.Procs[1].Env = []string{} // none is an empty environment
	if diff := cmp.Diff(&spec, got.Spec); diff != "" {
		t.Errorf("what arrived is another specification (-sent +arrived):\n%s", diff)
	}
}

func TestAResultArrives(t *testing.T) {
	want := report{Result: &Result{
		Procs: []Exit{{PID: 7, Status: 143, Signal: syscall.SIGTERM, Stopped: true, At: time.Unix(1, 2).UTC(), Error: "no"}},
		First: -1, Peak: 1 << 40, Memory: true, Lost: "killed", Left: []int{1, 2}, CPU: time.Hour + 1,
	}}
	var pipe bytes.Buffer
	if err := json.NewEncoder(&pipe).Encode(want); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.NewDecoder(&pipe).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what arrived is another result (-sent +arrived):\n%s", diff)
	}
}

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

func TestTensorBoardAndNotebookHaveAProgramAndAPort(t *testing.T) {
	own := spec.Role{Command: spec.Command{Argv: []string{"tensorboard"}}, Ports: map[string]int{"web": 6006}}
	p, err := Build(&spec.Job{Role: spec.Role{Command: spec.Command{Shell: "true"}, Procs: 2}, Roles: spec.Roles{
		{Name: "worker"}, {Name: "notebook"}, {Name: "tensorboard", Role: own}}}, nil, Capabilities{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Role("notebook"); !strings.Contains(r.Command.Shell, "jupyterlab") || r.Procs != 1 || r.Wait || r.Counted {
		t.Errorf("notebook is %+v", r)
	} else if d := cmp.Diff([]Port{{Name: "main"}}, r.Ports); d != "" {
		t.Error(d)
	}
	r := p.Role("tensorboard")
	if d := cmp.Diff(own.Command, r.Command); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Port{{Name: "web", Number: 6006}}, r.Ports); d != "" {
		t.Error(d)
	}
}

package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

// What the author wrote holds, the line fills the rest, and where they disagree
// both numbers are told.
func TestAuthorAndLineSettle(t *testing.T) {
	one, three := 1, 3
	two := spec.Count{Min: 2, Max: 2}
	for name, tc := range map[string]struct {
		line      string
		role      spec.Role
		written   string
		changes   []Change
		conflicts []Conflict
	}{
		"the line alone": {
			line: "torchrun --nnodes 2 --nproc-per-node 4 --max-restarts 3 x.py", role: spec.Role{},
			changes: []Change{{"instances", two}, {"procs", 4}, {"restarts", 3}},
		},
		"no restarts are no word": {line: "torchrun --max-restarts 0 x.py"},
		"no restarts, and the author wants some": {
			line: "torchrun --max-restarts 0 x.py", role: spec.Role{Restarts: &three}, written: "restarts",
			conflicts: []Conflict{{"restarts", "3 holds; the line says --max-restarts 0"}},
		},
		"other restarts": {
			line: "torchrun --max-restarts 3 x.py", role: spec.Role{Restarts: &one}, written: "restarts",
			conflicts: []Conflict{{"restarts", "1 holds; the line says --max-restarts 3"}},
		},
		"who says what a failure means says it all": {line: "torchrun --max-restarts 3 x.py", written: "on_failure"},
		"they agree": {line: "torchrun --nnodes 2 --nproc-per-node 4 x.py", role: spec.Role{Instances: two, Procs: 4}, written: "instances procs"},
		"other numbers": {
			line: "torchrun --nnodes=1:3 --nproc_per_node=4 x.py", role: spec.Role{Instances: two, Procs: 3}, written: "instances procs",
			conflicts: []Conflict{{"instances", "2 holds; the line says --nnodes=1:3"}, {"procs", "3 holds; the line says --nproc_per_node=4"}},
		},
		"processes of all tasks, in one": {line: "mpirun -np 4 x", changes: []Change{{"procs", 4}}},
		"processes of all tasks, in the author's": {
			line: "horovodrun -np 8 x", role: spec.Role{Instances: two}, written: "instances", changes: []Change{{"procs", 4}},
		},
		"more slots than processes are no trouble": {
			line: "mpirun -np 5 x", role: spec.Role{Instances: two}, written: "instances", changes: []Change{{"procs", 3}},
		},
		"slots are the author's": {line: "mpirun -np 1 x : -np 4 y", role: spec.Role{Instances: two, Procs: 2}, written: "instances procs"},
		"fewer are": {
			line: "mpirun -np 4 -npernode 1 x", role: spec.Role{Instances: two}, written: "instances", changes: []Change{{"procs", 1}},
			conflicts: []Conflict{{"instances", "2 holds; the line says -np 4"}},
		},
		"tasks of one size do not always fit": {
			line: "horovodrun -np 5 x", role: spec.Role{Instances: two}, written: "instances", changes: []Change{{"procs", 3}},
			conflicts: []Conflict{{"procs", "2 tasks of 3 make 6 processes; -np 5 asks for 5"}},
		},
		"a device for each process": {
			line:    "accelerate launch --multi_gpu --num_machines 2 --num_processes 8 x.py",
			changes: []Change{{"instances", two}, {"procs", 4}, {"gpus", 4}},
		},
		"as many processes as devices": {
			line: "torchrun --nproc-per-node gpu x.py", role: spec.Role{GPUs: 4}, written: "gpus", changes: []Change{{"procs", 4}},
		},
		"and none of either": {line: "deepspeed x.py"},
		"or none": {
			line: "deepspeed --num_gpus 4 x.py", written: "gpus", changes: []Change{{"procs", 4}},
			conflicts: []Conflict{{"gpus", "0 holds; the line says --num_gpus 4"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(tc.written)
			changes, conflicts := Read(spec.Command{Shell: tc.line}, nil).Settle(&tc.role, func(key string) bool { return slices.Contains(words, key) })
			if d := cmp.Diff(tc.changes, changes); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.conflicts, conflicts); d != "" {
				t.Error(d)
			}
		})
	}
}

// FuzzRead feeds words that launchers know in every order, and words that
// nobody does. Whatever comes: no panic, the same twice, no count below zero,
// and the line's last word, which is the program's, is the last that runs.
func FuzzRead(f *testing.F) {
	for _, line := range []string{
		"torchrun --nnodes 2 --nproc-per-node=2 train.py --lr 1", "mpirun -np 4 -H a:2,b:2 : -np 1 x", "horovodrun -np 2 -H a:1 python x",
		"deepspeed --include a:0@b:1 x.py", "accelerate launch --config_file config.yaml x.py", "cd a && torchrun $X --nnodes=$N 'a b' > log",
		"python -m torch.distributed.run --nnodes", "mpirun -env A", "torchrun -r", "bash -c 'torchrun --nnodes 2 x'", "torchrun \\\n x",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		a := Read(spec.Command{Shell: line}, files)
		if d := cmp.Diff(describe(a), describe(Read(spec.Command{Shell: line}, files))); d != "" {
			t.Fatalf("not the same twice: %s", d)
		}
		words := strings.Fields(line)
		b := Read(spec.Command{Argv: words}, files)
		for _, r := range []*Reading{a, b} {
			if r == nil {
				continue
			}
			r.Settle(&spec.Role{}, func(string) bool { return false })
			r.NotTaken()
			if r.Instances.Min < 0 || r.Instances.Max < r.Instances.Min || r.Procs < 0 || r.Total < 0 || r.GPUs < 0 {
				t.Fatalf("counts that cannot be: %+v", r)
			}
		}
		// The program's own words are the end of what runs, in their order.
		if b == nil || b.Command.Argv == nil {
			return
		}
		at := len(words)
		for i := len(b.Command.Argv) - 1; i >= 0 && at > 0 && words[at-1] == b.Command.Argv[i]; i-- {
			at--
		}
		if at == len(words) {
			t.Fatalf("%q: the last word of %q is another", line, b.Command.Argv)
		}
	})
}

package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Wanted is one request in the queue: a gang that is granted together.
type Wanted struct {
	Job    string
	User   string
	Number int
	// Asks are in the order of need: the first Minimum of them are the gang, the
	// rest are welcome.
	Asks    []backend.Ask
	Minimum int
	Ticket  int64 // first come, first served
}

// Granted is a slot that a decision gives out.
type Granted struct {
	Wanted *Wanted
	Slot   backend.Slot
}

// decision is what follows from the state of the machine and the queue.
type decision struct {
	granted []Granted
	waiting map[*Wanted][]string
	refused map[*Wanted]string
}

// decide gives whole gangs in the order of their tickets. A gang that does not
// fit keeps everything behind it waiting, so that a large one is never starved
// by small ones. It is pure: the same state gives the same answer.
//
// A gang whose minimum was granted earlier and that still hopes for the rest
// (Minimum is 0) comes last and blocks nobody.
func decide(m Machine, held []Claim, queue []*Wanted) decision {
	d := decision{waiting: map[*Wanted][]string{}, refused: map[*Wanted]string{}}
	b := newBooks(m, held)
	var head *Wanted
	for _, w := range inOrder(queue) {
		need, rest := w.Asks[:min(w.Minimum, len(w.Asks))], w.Asks[min(w.Minimum, len(w.Asks)):]
		if why := newBooks(m, nil).lacks(need); len(why) > 0 {
			d.refused[w] = "can never be granted on " + m.Node + ": " + strings.Join(never(m, need), "; ")
			continue
		}
		why := b.lacks(need)
		if head != nil && len(need) > 0 {
			d.waiting[w] = append(why, fmt.Sprintf("behind %s (%s)", head.Job, count(head.Minimum, "task")))
			continue
		}
		if len(why) > 0 {
			d.waiting[w], head = b.withHolders(why, need), w
			continue
		}
		// Once a gang waits, what is merely welcome to others is kept for it.
		take := need
		if head == nil {
			for _, a := range rest {
				if len(b.lacks(append(slices.Clone(take), a))) == 0 {
					take = append(slices.Clone(take), a)
				}
			}
		}
		d.granted = append(d.granted, b.take(w, take)...)
	}
	return d
}

// inOrder sorts by ticket, those that only hope for more last.
func inOrder(queue []*Wanted) []*Wanted {
	return slices.SortedFunc(slices.Values(queue), func(a, b *Wanted) int {
		return cmp.Or(cmp.Compare(bit(a.Minimum == 0), bit(b.Minimum == 0)),
			cmp.Compare(a.Ticket, b.Ticket), strings.Compare(a.Job, b.Job), cmp.Compare(a.Number, b.Number))
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// books is what is left of a machine while a decision is made.
type books struct {
	m      Machine
	held   []Claim
	shares float64
	memory int64
	gpus   []string
	cpus   []int // processors that are nobody's own
}

func newBooks(m Machine, held []Claim) *books {
	b := &books{m: m, shares: m.Shares, memory: m.Memory, gpus: slices.Clone(m.GPUs), cpus: slices.Clone(m.CPUs)}
	for _, c := range held {
		b.hold(c)
	}
	return b
}

func (b *books) hold(c Claim) {
	b.held = append(b.held, c)
	b.shares -= c.CPUs
	b.memory -= c.Memory
	b.gpus = slices.DeleteFunc(b.gpus, func(id string) bool { return slices.Contains(c.GPUs, id) })
	own := parseSet(c.CPUSet)
	b.cpus = slices.DeleteFunc(b.cpus, func(n int) bool { return slices.Contains(own, n) })
}

// tiny forgives the rounding of fractions of processors.
const tiny = 1e-6

// lacks says in numbers what is missing for all the asks together.
func (b *books) lacks(asks []backend.Ask) []string {
	sum := total(asks)
	var why []string
	if sum.GPUs > len(b.gpus) {
		why = append(why, fmt.Sprintf("needs %s, %d of %d free", count(sum.GPUs, "GPU"), len(b.gpus), len(b.m.GPUs)))
	}
	if sum.Memory > 0 && sum.Memory > b.memory {
		why = append(why, fmt.Sprintf("needs %v of memory, %v of %v free", spec.Size(sum.Memory), spec.Size(max(0, b.memory)).Rough(), spec.Size(b.m.Memory).Rough()))
	}
	if sum.CPUs > b.shares+tiny {
		why = append(why, fmt.Sprintf("needs %s, %s of %s free", number(sum.CPUs)+" CPUs", number(max(0, b.shares)), number(b.m.Shares)))
	}
	return why
}

// never says why asks cannot be granted even by an empty machine, and names a
// single task where one alone is too large.
func never(m Machine, asks []backend.Ask) []string {
	for _, a := range asks {
		if why := newBooks(m, nil).lacks([]backend.Ask{a}); len(why) > 0 {
			return []string{a.Task.String() + " " + strings.Join(why, ", ")}
		}
	}
	return []string{fmt.Sprintf("%s together: %s", count(len(asks), "task"), strings.Join(newBooks(m, nil).lacks(asks), ", "))}
}

// withHolders adds who holds what is missing.
func (b *books) withHolders(why []string, asks []backend.Ask) []string {
	sum := total(asks)
	jobs := map[string]bool{}
	var names []string
	for _, c := range b.held {
		if !jobs[c.Job] && (sum.GPUs > 0 && len(c.GPUs) > 0 || sum.GPUs == 0) {
			jobs[c.Job] = true
			names = append(names, c.Job+" of "+c.User)
		}
	}
	slices.Sort(names)
	const some = 3
	if len(names) > some {
		names = append(names[:some], fmt.Sprintf("%d more", len(names)-some))
	}
	if len(names) > 0 {
		why = append(why, "held by "+strings.Join(names, ", "))
	}
	return why
}

// take books the asks and gives their slots.
func (b *books) take(w *Wanted, asks []backend.Ask) []Granted {
	var out []Granted
	sets := b.sets(asks)
	for i, a := range asks {
		s := backend.Slot{
			ID: slotID(w.Number, a.Task), Request: w.Number, Task: a.Task,
			Node: b.m.Node, Resources: a.Resources, CPUSet: sets[i],
			Devices: slices.Clone(b.gpus[:a.Resources.GPUs]),
		}
		b.hold(claimOf(w, s))
		out = append(out, Granted{Wanted: w, Slot: s})
	}
	return out
}

func claimOf(w *Wanted, s backend.Slot) Claim {
	return Claim{Job: w.Job, Slot: s.ID, Task: s.Task, User: w.User, CPUs: s.Resources.CPUs, CPUSet: s.CPUSet,
		Memory: s.Resources.Memory, GPUs: s.Devices}
}

// slotID names a slot within its job. A slot that is asked for again under the
// same number is the same slot.
func slotID(number int, t plan.TaskID) string {
	return fmt.Sprintf("%d-%s-%d", number, t.Role, t.Index)
}

// sets gives each ask for whole processors its own ones, the lowest first, if
// there are enough for all of them. Otherwise nobody gets a set: a gang in
// which some share and some do not runs at the pace of those that share.
func (b *books) sets(asks []backend.Ask) []string {
	sets := make([]string, len(asks))
	free := b.cpus
	for i, a := range asks {
		n := a.Resources.CPUs
		if n != math.Trunc(n) || n < 1 {
			continue
		}
		if int(n) > len(free) {
			return make([]string, len(asks))
		}
		sets[i], free = formatSet(free[:int(n)]), free[int(n):]
	}
	return sets
}

func total(asks []backend.Ask) (r plan.Resources) {
	for _, a := range asks {
		r.CPUs += a.Resources.CPUs
		r.Memory += a.Resources.Memory
		r.GPUs += a.Resources.GPUs
	}
	return r
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func number(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) }

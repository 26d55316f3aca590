package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

// request is one wish of the coordinator for a gang.
type request struct {
	backend.Request
	tasks    []plan.TaskID // those that it cannot do without first
	granted  map[plan.TaskID]string
	want     map[int64]int             // what the rule lets be outstanding, by class
	where    map[string]map[string]int // on which nodes, if that matters
	seats    map[string]map[string]int // the plan of a gang with constraints
	complete bool                      // the minimum was granted
	settled  bool                      // its executors are being started: what comes later is not wanted
	refused  bool
	replace  bool // for lost slots of a gang that was complete
	yields   bool // it leaves the order to those for whom the gang was preempted
	stage    int
	since    time.Time
	said     []string
	kinds    []string // of what was said
	repeats  int      // of the same kinds
	saidAt   time.Time
}

// Request asks for slots. One that is known already changes nothing.
func (l *Ledger) Request(r backend.Request, now time.Time) {
	if l.closed || slices.ContainsFunc(l.requests, func(o *request) bool { return o.Number == r.Number }) {
		return
	}
	q := &request{Request: r, granted: map[plan.TaskID]string{}, want: map[int64]int{}, since: now}
	for _, a := range r.Asks {
		q.tasks = append(q.tasks, a.Task)
		q.stage = max(q.stage, l.role(a.Task).Stage)
	}
	slices.SortStableFunc(q.tasks, func(a, b plan.TaskID) int { return l.need(a) - l.need(b) })
	for id, b := range l.boxes { // what an earlier coordinator was granted for it
		if b.slot.Request == r.Number && b.ours() && slices.Contains(q.tasks, b.slot.Task) {
			q.granted[b.slot.Task] = id
		}
	}
	q.complete = len(q.granted) > 0 && len(q.granted) >= r.Minimum
	q.replace = q.stage <= l.stage && l.stands()
	if !q.replace && l.stage >= 0 {
		l.Rule.Next()
		q.yields = !l.preempted(q).IsZero() // before any beat says that it gathers
	}
	l.requests = append(l.requests, q)
	slices.SortFunc(l.requests, func(a, b *request) int { return cmp.Compare(a.Number, b.Number) })
	l.grown = true
	if why := l.tooLarge(q); why != "" {
		l.refuse(q, why)
	}
}

// preempted is when the scheduler took what the request is to bring back; zero for
// the first gang of a stage.
func (l *Ledger) preempted(q *request) time.Time {
	if q.stage > l.stage {
		return time.Time{}
	}
	return l.took
}

// need is 0 for the tasks that a role cannot do without.
func (l *Ledger) need(id plan.TaskID) int {
	if id.Index >= l.role(id).Instances.Min {
		return 1
	}
	return 0
}

// stands says that the job has slots of a gang that was complete.
func (l *Ledger) stands() bool {
	for _, b := range l.boxes {
		if b.ours() {
			return true
		}
	}
	return false
}

// tooLarge says, with the numbers, which ask exceeds the largest container.
func (l *Ledger) tooLarge(q *request) string {
	for _, id := range q.tasks {
		sh := l.Shape(l.role(id))
		if sh.Most != nil && !sh.Size.Fits(sh.Most) {
			return fmt.Sprintf("%s needs %s, the largest container here has %s", id, sh.Size, sh.Most)
		}
	}
	return ""
}

// Class numbers: requests and roles are told apart by what comes back with every
// container, also after a takeover.
const roleBits = 16

func (l *Ledger) class(number int, role string) int64 {
	for i := range l.Plan.Roles {
		if l.Plan.Roles[i].Name == role {
			return int64(number)<<roleBits | int64(i+1)
		}
	}
	return int64(number) << roleBits
}

// roleOf is the role of a class, nil if it is none of ours.
func (l *Ledger) roleOf(class int64) *plan.Role {
	if i := int(class&(1<<roleBits-1)) - 1; i >= 0 && i < len(l.Plan.Roles) {
		return &l.Plan.Roles[i]
	}
	return nil
}

func (l *Ledger) roleName(class int64) string {
	if r := l.roleOf(class); r != nil {
		return r.Name
	}
	return ""
}

func numberOf(class int64) int { return int(class >> roleBits) }

// lacking are the tasks of a role that have no slot yet.
func (q *request) lacking(role string) []plan.TaskID {
	var out []plan.TaskID
	for _, id := range q.tasks {
		if id.Role == role && q.granted[id] == "" {
			out = append(out, id)
		}
	}
	return out
}

// classes is what the gang of a request needs, with what it has been granted.
// Where it replaces lost slots, the gang is all that the job has and them.
func (l *Ledger) classes(q *request) []gang.Class {
	var out []gang.Class
	needed := q.tasks[:min(q.Minimum, len(q.tasks))]
	for i := range l.Plan.Roles {
		r := &l.Plan.Roles[i]
		least, most := 0, 0
		for _, id := range needed {
			if id.Role == r.Name && (q.granted[id] == "" || !q.replace) {
				least++
			}
		}
		for _, id := range q.tasks {
			if id.Role == r.Name && (q.granted[id] == "" || !q.replace) {
				most++
			}
		}
		if q.replace && most > 0 { // a role that lacks nothing is no matter: where it stands need not even be a place for it any more
			for _, b := range l.boxes {
				if b.ours() && b.slot.Task.Role == r.Name {
					least++
					most++
				}
			}
		}
		if most == 0 {
			continue
		}
		sh := l.Shape(r)
		out = append(out, gang.Class{Name: r.Name, Size: sh.Size, Partition: sh.Partition, Minimum: least, Count: most, PerNode: sh.PerNode})
	}
	return out
}

// current is the request that gathers: one after the other.
func (l *Ledger) current() *request {
	for _, q := range l.requests {
		if len(q.tasks) > len(q.granted) && !q.settled && !q.refused {
			return q
		}
	}
	return nil
}

// grant gives held containers to tasks. They come in the rule's order, by class,
// rack and node, so that neighbours get neighbouring indices.
func (l *Ledger) grant(q *request, keep []gang.Slot) {
	for _, s := range keep {
		b := l.boxes[s.ID]
		lacking := q.lacking(s.Class)
		if b == nil || b.phase != held {
			continue // has been granted before
		}
		if len(lacking) == 0 {
			l.drop(b)
			continue
		}
		b.phase, b.slot.Task = granted, lacking[0]
		q.granted[b.slot.Task] = s.ID
		slot := b.slot
		l.tell(backend.Event{Granted: &slot})
	}
	l.stage = max(l.stage, q.stage)
}

// waits tells why a request is not granted, when the reasons have changed and
// not too often: a short wait is not worth a word, and where only the numbers of
// the same reasons change, people are told ever less often.
func (l *Ledger) waits(q *request, reasons []gang.Reason, now time.Time) {
	if now.Before(q.since.Add(l.Times.Say / 5)) {
		return
	}
	var said, kinds []string
	for _, r := range reasons {
		said, kinds = append(said, r.Text), append(kinds, string(r.Code))
	}
	if len(said) == 0 {
		said = []string{l.gathers(q)}
	}
	pause := l.Times.Say
	if slices.Equal(kinds, q.kinds) {
		pause = min(l.Times.Say<<min(q.repeats, sayShift), l.Times.SayLeast)
	}
	if now.Before(q.saidAt.Add(pause)) || slices.Equal(said, q.said) {
		return
	}
	if q.repeats++; !slices.Equal(kinds, q.kinds) {
		q.repeats = 0
	}
	q.said, q.kinds, q.saidAt = said, kinds, now
	l.tell(backend.Event{Waiting: &backend.Waiting{Request: q.Number, Reasons: said}})
}

const sayShift = 10

// gathers says in numbers how far a gang is.
func (l *Ledger) gathers(q *request) string {
	has := map[string]int{}
	for _, b := range l.boxes {
		if b.phase == held && numberOf(b.class) == q.Number || b.ours() && (q.replace || b.slot.Request == q.Number) {
			has[l.roleName(b.class)]++
		}
	}
	var parts []string
	for _, c := range l.classes(q) {
		parts = append(parts, fmt.Sprintf("%d of %d of %s", has[c.Name], c.Minimum, c.Name))
	}
	text := "holds " + strings.Join(parts, ", ")
	if l.sight.headroom != nil {
		text += fmt.Sprintf("; its queue has room for %s", l.sight.headroom)
	}
	return text
}

package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// Codes of reasons, the most important first: what nobody but a person can
// change comes before what time changes.
const (
	reasonForgotten    = "forgotten"     // the resource manager does not know the application
	reasonNotSubmitted = "not_submitted" // there is none yet
	reasonQueueStopped = "queue_stopped"
	reasonLabel        = "label"          // no node of the partition, or nothing of it for the queue
	reasonNodeSize     = "node_size"      // larger than any node
	reasonTooMuch      = "queue_too_much" // more than the queue may ever have
	reasonAside        = "stepped_aside"
	reasonTooManyJobs  = "too_many_jobs"
	reasonMasters      = "am_share"
	reasonUserMasters  = "user_am_share"
	reasonBehind       = "behind_gang"
	reasonUserLimit    = "user_limit"
	reasonQueueMaximum = "queue_maximum"
	reasonFragments    = "fragmentation"
	reasonFull         = "cluster_full"
	reasonStarting     = "starting"
	reasonScheduler    = "scheduler" // nothing but the scheduler's own words
)

var importance = []string{reasonForgotten, reasonNotSubmitted, reasonQueueStopped, reasonLabel, reasonNodeSize, reasonTooMuch, reasonAside,
	reasonTooManyJobs, reasonMasters, reasonUserMasters, reasonBehind, reasonUserLimit, reasonQueueMaximum, reasonFragments, reasonFull,
	reasonStarting, reasonScheduler}

// situation is all that is known of a job that waits, at one moment.
type situation struct {
	App        string
	User       string
	Queue      string
	State      yarnpb.AppState
	Started    bool // its coordinator's container is granted
	Held       int  // slots
	Wants      []want
	Cluster    *cluster
	Gangs      gang.View
	Diagnostic string   // of the resource manager
	Words      []string // of the scheduler: why it gave nothing
}

// want is what a job still lacks of one kind.
type want struct {
	what  string // worker, or coordinator
	label string
	size  Size
	count int
}

// reasons says why a job waits. Pure.
func reasons(s situation) []backend.Reason {
	w := &why{situation: s}
	if found := find(s.Cluster.Root, s.Queue); len(found) == 1 {
		w.queue = found[0]
	}
	w.stopped()
	if !s.Started {
		w.masters()
	} else {
		w.behind()
	}
	for _, n := range w.byLabel() {
		if w.nodes(n) {
			w.shares(n)
			w.room(n)
		}
	}
	w.words()
	slices.SortStableFunc(w.out, func(a, b backend.Reason) int {
		return cmp.Compare(slices.Index(importance, a.Code), slices.Index(importance, b.Code))
	})
	return w.out
}

// why collects reasons.
type why struct {
	situation
	queue *queue
	out   []backend.Reason
}

func (w *why) add(code string, numbers map[string]float64, next, format string, args ...any) {
	w.out = append(w.out, backend.Reason{Code: code, Text: fmt.Sprintf(format, args...), Next: next, Numbers: numbers})
}

// numbers names the parts of sizes for programs: asked_memory_mib, free_gpus.
func numbers(of map[string]Size, names []string) map[string]float64 {
	out := map[string]float64{}
	for what, size := range of {
		for _, name := range names {
			out[what+"_"+numberName(name)] = float64(size.Get(name))
		}
	}
	return out
}

func numberName(name string) string {
	switch name {
	case nameMemory:
		return "memory_mib"
	case GPU:
		return "gpus"
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '.' || r == '-' {
			return '_'
		}
		return r
	}, name)
}

// words gives the scheduler's own where nothing else was found.
func (w *why) words() {
	if len(w.out) > 0 {
		return
	}
	text := cmp.Or(strings.Join(w.Words, "; "), firstLine(w.Diagnostic))
	switch {
	case text != "":
		w.add(reasonScheduler, nil, "look again in a while", "the scheduler says: %s", text)
	case w.Started:
		w.add(reasonStarting, map[string]float64{"held": float64(w.Held)}, "look again in a moment", "nothing is in its way: it is gathering its slots")
	default:
		w.add(reasonStarting, nil, "look again in a moment", "nothing is in its way: its coordinator is being started")
	}
}

// over are the parts of which used and asked together are more than there may
// be; all of them if it is none.
func (w *why) over(used, asked, most Size) []string {
	var out []string
	for _, name := range parts(asked) {
		if w.Cluster.Scheduler.Counts(name) && used.Get(name)+asked.Get(name) > most.Get(name) {
			out = append(out, name)
		}
	}
	if out == nil {
		return parts(asked)
	}
	return out
}

// exceeds says that an ask on top of what is used is more than there may be. A
// limit of nothing is one that is not known.
func (w *why) exceeds(used, asked, most Size) bool {
	if most.IsZero() {
		return false
	}
	total := used.Add(asked)
	return slices.ContainsFunc(parts(total), func(name string) bool {
		return w.Cluster.Scheduler.Counts(name) && total.Get(name) > most.Get(name)
	})
}

// only prints some parts of a size, those that are nothing too.
func only(s Size, names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, amount(name, s.Get(name)))
	}
	return strings.Join(out, ", ")
}

// lack is what a job lacks in one partition.
type lack struct {
	label string
	wants []want
	total Size
}

func (w *why) byLabel() []lack {
	var out []lack
	for _, n := range w.Wants {
		if n.count <= 0 {
			continue
		}
		at := slices.IndexFunc(out, func(l lack) bool { return l.label == n.label })
		if at < 0 {
			at = len(out)
			out = append(out, lack{label: n.label})
		}
		out[at].wants = append(out[at].wants, n)
		out[at].total = out[at].total.Add(n.size.Times(int64(n.count)))
	}
	return out
}

// text is what is lacked, for people.
func (l lack) text() string {
	var out []string
	for _, n := range l.wants {
		out = append(out, fmt.Sprintf("%s %d × (%s)", n.what, n.count, say(n.size)))
	}
	return strings.Join(out, ", ")
}

// counted is a size without what the scheduler does not look at.
func (w *why) counted(s Size) Size {
	for _, name := range parts(s) {
		if !w.Cluster.Scheduler.Counts(name) {
			s = s.With(name, 0)
		}
	}
	return s
}

// said says whether the scheduler used these words.
func (w *why) said(words string) bool {
	return slices.ContainsFunc(w.Words, func(s string) bool { return strings.Contains(s, words) })
}

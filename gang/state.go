package gang

import (
	"maps"
	"time"
)

// State is what a master remembers between two decisions. The zero value is that
// of a gang which holds nothing yet. It lives in memory only: whoever forgets it
// begins to wait again, and harms nobody.
type State struct {
	complete bool
	lapsed   bool      // was complete; its tasks may still run
	lost     time.Time // since when a complete gang lacks of its minimum
	began    time.Time // first decision
	taken    time.Time // of the newest view that was judged

	stamps map[string]stamp // of the ticket files, by application
	head   watched          // who is first of those that meet this gang
	last   watched          // this gang is the last one behind that head
	alone  time.Time        // since when only gathering gangs hold anything
	still  stillness        // since when nothing moves on the nodes

	try   attempt // backfill
	blind attempt // holding without a view
	stuck time.Time
	plan  bool      // slots are asked for by node
	unfit time.Time // since when the gang does not fit
}

type stamp struct {
	value time.Time // as the file system told it
	at    time.Time // when it was first seen so
	moved bool      // it was seen to change: somebody refreshes it
}

type watched struct {
	app   string
	since time.Time
}

type stillness struct {
	used  Size
	since time.Time
}

// attempt is a bounded time of holding, and the rest after it.
type attempt struct {
	since time.Time // zero: none under way
	end   time.Time // given up then
	until time.Time // rests until then
	spent int       // attempts that came to nothing
}

// Resume is the state of a master that finds its gang complete, because another
// attempt before it said so in the journal.
func Resume() State { return State{complete: true} }

// Next is the state in which a gang goes on when the job needs further slots
// together: Need is new, and what the job has goes to Kept.
func (s State) Next() State {
	n := State{began: s.began, taken: s.taken, stamps: s.stamps, head: s.head}
	return n
}

// Complete says that the gang held its minimum and did not lapse since.
func (s State) Complete() bool { return s.complete }

func (s State) clone() State {
	s.stamps = maps.Clone(s.stamps)
	return s
}

func (w watched) see(app string, now time.Time) watched {
	if app == "" || w.app != app || w.since.IsZero() {
		return watched{app: app, since: now}
	}
	return w
}

package gang_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/gang"
)

// seat is a running gang job, launched so many seconds after the epoch.
func seat(id string, launched int, progress float64) gang.Application {
	return gang.Application{ID: id, User: "ada", Job: "j" + id, Queue: "q", Launched: epoch.Add(time.Duration(launched) * time.Second),
		State: gang.Running, Visible: true, Progress: progress}
}

func slots(class string, ids ...string) []gang.Slot {
	var out []gang.Slot
	for _, id := range ids {
		out = append(out, gang.Slot{ID: id, Class: class, Node: "n1", At: epoch})
	}
	return out
}

func codes(d gang.Decision) string {
	var out []string
	for _, r := range d.Waiting {
		out = append(out, string(r.Code))
	}
	return strings.Join(out, " ")
}

// moment is a snapshot of "me", launched at 10 s, which needs 2 to 4 workers.
func moment(held []gang.Slot, apps ...gang.Application) gang.Snapshot {
	return gang.Snapshot{
		App: "me", Held: held, Times: quickTimes(),
		View: gang.View{At: epoch, Applications: append(apps, seat("me", 10, 0)), Reports: true, Tickets: true},
		Need: []gang.Class{{Name: "w", Size: mem(1, 1), Minimum: 2, Count: 4}},
	}
}

func TestOneMoment(t *testing.T) {
	older, younger, done := seat("b", 5, 0), seat("c", 20, 0), seat("d", 1, 0.3)
	important := younger
	important.Priority = 1
	hidden := older
	hidden.Visible, hidden.User = false, "bob"
	ticketed := hidden
	ticketed.Stamp = epoch
	elsewhere := older
	elsewhere.Partitions = []string{"gpu"}
	dead := older
	dead.State = gang.Pending
	blind := moment(nil, hidden)
	blind.View.Tickets = false
	early := moment(slots("w", "1"))
	early.View = gang.View{}
	unseen := moment(slots("w", "1"))
	unseen.View.Applications = nil

	preempted := func(ago time.Duration, in gang.Snapshot) gang.Snapshot {
		in.Preempted = epoch.Add(-ago)
		return in
	}

	idle := preempted(time.Second, moment(slots("w", "1")))
	idle.View.At = epoch.Add(-time.Hour) // it was complete, and looked at nobody
	away := younger
	away.Away = true
	out := preempted(time.Second, moment(slots("w", "1"), younger))
	out.View.Reports = false

	for name, c := range map[string]struct {
		in       gang.Snapshot
		ask      int
		release  string
		complete bool
		codes    string
	}{
		"alone":                             {moment(nil), 2, "", false, "gathering"},
		"first":                             {moment(slots("w", "1"), younger, done), 1, "", false, "gathering"},
		"second":                            {moment(slots("w", "1"), older), 0, "1", false, "behind"},
		"a higher priority is first":        {moment(slots("w", "1"), important), 0, "1", false, "behind"},
		"a complete gang is nobody's head":  {moment(slots("w", "1"), done), 1, "", false, "gathering"},
		"preempted for a younger one":       {preempted(time.Second, moment(slots("w", "1"), younger)), 0, "1", false, "yields"},
		"preempted, others are complete":    {preempted(time.Second, moment(slots("w", "1"), done)), 1, "", false, "gathering"},
		"preempted, and not looked since":   {preempted(0, moment(slots("w", "1"))), 0, "1", false, "yields"},
		"preempted, and the view is old":    {idle, 0, "1", false, "yields"},
		"preempted, and blind":              {out, 1, "", false, "blind"},
		"preempted, for whom has no master": {preempted(time.Second, moment(slots("w", "1"), away)), 1, "", false, "gathering"},
		"preempted long ago":                {preempted(time.Hour, moment(slots("w", "1"), younger)), 1, "", false, "gathering"},
		"another partition":                 {moment(slots("w", "1"), elsewhere), 1, "", false, "gathering"},
		"no master runs":                    {moment(slots("w", "1"), dead), 1, "", false, "gathering"},
		"hidden, no ticket":                 {moment(slots("w", "1"), hidden), 1, "", false, "gathering"},
		"hidden, with a ticket":             {moment(slots("w", "1"), ticketed), 0, "1", false, "behind"},
		"hidden, tickets unreadable":        {blind, 2, "", false, "blind"},
		"no look-up yet":                    {early, 0, "1", false, "unseen"},
		"not shown yet":                     {unseen, 0, "1", false, "unseen"},
		"complete, and grows":               {moment(slots("w", "1", "2"), done), 2, "", true, ""},
		"complete, but another gathers":     {moment(slots("w", "1", "2"), younger), 0, "", true, ""},
		"complete although second":          {moment(slots("w", "1", "2"), older), 0, "", true, ""},
		"more than welcome":                 {moment(slots("w", "1", "2", "3", "4", "5")), 0, "5", true, ""},
		"of no class":                       {moment(slots("x", "1")), 2, "1", false, "gathering"},
	} {
		t.Run(name, func(t *testing.T) {
			_, d := gang.Decide(gang.State{}, c.in, epoch)
			if d.Ask["w"] != c.ask || strings.Join(d.Release, " ") != c.release || d.Complete != c.complete || codes(d) != c.codes {
				t.Errorf("asks %d, releases %v, complete %v, waits for %q; want %+v", d.Ask["w"], d.Release, d.Complete, codes(d), c)
			}
		})
	}
}

func TestASlotIsExchangedBeforeItExpires(t *testing.T) {
	in := moment(slots("w", "1"))
	now := epoch.Add(in.Times.Expiry)
	in.View.At = now
	if _, d := gang.Decide(gang.State{}, in, now); d.Ask["w"] != 2 || !slices.Equal(d.Release, []string{"1"}) || len(d.Keep) != 0 {
		t.Errorf("%+v", d)
	}
	in.Held[0].Started = true
	if _, d := gang.Decide(gang.State{}, in, now); d.Ask["w"] != 1 || d.Release != nil {
		t.Errorf("a started one: %+v", d)
	}
}

func TestALapsedHeadKeepsWhatRuns(t *testing.T) {
	in := moment(slots("w", "1"), seat("c", 20, 0))
	s, d := gang.Decide(gang.Resume(), in, epoch)
	if !d.Complete || d.Ask["w"] != 1 || codes(d) != "replacing" {
		t.Fatalf("at first: %+v", d)
	}
	in.View.At = epoch.Add(in.Times.Replace)
	if _, d = gang.Decide(s, in, in.View.At); d.Complete || d.Rejoin || d.Release != nil || d.Ask["w"] != 1 {
		t.Errorf("as the head: %+v", d)
	}
	in.View.Applications = append(in.View.Applications, seat("b", 5, 0))
	if _, d = gang.Decide(s, in, in.View.At); d.Complete || !d.Rejoin || !slices.Equal(d.Release, []string{"1"}) || d.Ask["w"] != 0 {
		t.Errorf("as the second: %+v", d)
	}
}

func TestWhatDoesNotFitIsRefusedWhenNodesStayAway(t *testing.T) {
	in := moment(slots("w", "1"))
	in.Nodes = []gang.Node{{Name: "n1", Capability: mem(1, 16)}}
	s, d := gang.Decide(gang.State{}, in, epoch)
	if d.Refuse != nil || codes(d) != "too_many" || !slices.Equal(d.Release, []string{"1"}) {
		t.Fatalf("at first: %+v", d)
	}
	if _, d = gang.Decide(s, in, epoch.Add(in.Times.Unfit)); d.Refuse == nil || d.Ticket {
		t.Errorf("at last: %+v", d)
	}
}

func TestTheHeadIsToldWhatItWaitsFor(t *testing.T) {
	in := moment(nil)
	in.Need[0].Size = mem(3, 1)
	in.Nodes = []gang.Node{{Name: "n1", Capability: mem(4, 16), Used: mem(2, 2)}, {Name: "n2", Capability: mem(8, 16), Used: mem(4, 2)}}
	in.Shares = []gang.Share{{Maximum: mem(12, 99), Used: mem(8, 4)}}
	_, d := gang.Decide(gang.State{}, in, epoch)
	want := []string{
		"first of 1 gangs: holds 0 of 2 w",
		"the queue uses 8 memory, 4 vcores of at most 12 memory, 99 vcores in the default partition, 6 memory, 2 vcores more is needed",
		"6 memory, 28 vcores is free in the default partition, 6 memory, 2 vcores more is needed, but not together on the nodes where it would have to be",
	}
	var got []string
	for _, r := range d.Waiting {
		got = append(got, r.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := d.Waiting[1].Numbers; n["maximum.memory"] != 12 || n["needed.memory"] != 6 {
		t.Errorf("numbers %v", slices.Sorted(maps.Keys(n)))
	}
}

func TestAKeeperWaitsForItsTurn(t *testing.T) {
	aside := gang.Aside{App: "me", Ticket: gang.Ticket{Time: epoch.Add(10 * time.Second), ID: "me"}, Head: "b", At: epoch}
	over := seat("me", 10, 0)
	over.State = gang.Over
	for name, c := range map[string]struct {
		apps    []gang.Application
		reports bool
		after   time.Duration
		want    bool
	}{
		"the head gathers":         {[]gang.Application{seat("b", 5, 0)}, true, 0, false},
		"the head is complete":     {[]gang.Application{seat("b", 5, 0.5)}, true, 0, true},
		"the head is over":         {nil, true, 0, true},
		"another one before it":    {[]gang.Application{seat("b", 5, 0.5), seat("c", 6, 0)}, true, 0, false},
		"only younger ones":        {[]gang.Application{seat("d", 11, 0)}, true, 0, true},
		"nobody can be seen":       {nil, false, time.Second, false},
		"nobody, for a long while": {nil, false, quickTimes().Hold, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(c.after)
			v := gang.View{At: now, Applications: append(c.apps, over), Reports: c.reports, Tickets: true}
			if _, may, why := gang.MayReturn(gang.State{}, aside, v, quickTimes(), now); may != c.want {
				t.Errorf("%v: %s", may, why)
			}
		})
	}
}

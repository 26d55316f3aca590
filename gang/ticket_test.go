package gang_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-project/muster/gang"
)

func TestClaim(t *testing.T) {
	first := gang.Application{ID: "application_1_9999", User: "ada", Job: "m-1", State: gang.Over, Launched: epoch}
	own := gang.Application{ID: "application_1_10000", User: "ada", Job: "m-1", State: gang.Running, Launched: epoch.Add(time.Hour), First: first.ID, Priority: 3}
	inherited := gang.Ticket{Priority: 3, Time: epoch, ID: first.ID}
	itself := gang.Ticket{Priority: 3, Time: own.Launched, ID: own.ID}
	for name, c := range map[string]struct {
		turn  func(own, first *gang.Application)
		known bool
		want  gang.Ticket
	}{
		"of its first application": {func(_, _ *gang.Application) {}, true, inherited},
		"forgotten":                {func(_, _ *gang.Application) {}, false, itself},
		"of another user":          {func(_, f *gang.Application) { f.User = "eve" }, true, itself},
		"of another job":           {func(_, f *gang.Application) { f.Job = "m-2" }, true, itself},
		"of no job":                {func(o, f *gang.Application) { o.Job, f.Job = "", "" }, true, itself},
		"still running":            {func(_, f *gang.Application) { f.State = gang.Running }, true, itself},
		"never launched":           {func(_, f *gang.Application) { f.Launched = time.Time{} }, true, itself},
		"names nobody":             {func(o, _ *gang.Application) { o.First = "" }, true, itself},
		"names another":            {func(o, _ *gang.Application) { o.First = "application_1_1" }, true, itself},
		"names itself":             {func(o, f *gang.Application) { o.First = o.ID; *f = *o }, true, itself},
	} {
		t.Run(name, func(t *testing.T) {
			o, f := own, first
			c.turn(&o, &f)
			known := &f
			if !c.known {
				known = nil
			}
			if got := gang.Claim(o, known); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestTicketsHaveOneOrder: any two differ in the same way from both sides, and
// the order does not depend on where one begins.
func TestTicketsHaveOneOrder(t *testing.T) {
	ticket := rapid.Custom(func(t *rapid.T) gang.Ticket {
		return gang.Ticket{
			Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Time: epoch.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "time"))),
			ID: rapid.SampledFrom([]string{"a_1", "a_2", "a_10", "b_1"}).Draw(t, "id"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(ticket, 2, 8).Draw(t, "tickets")
		a, b := all[0], all[1]
		if a.Compare(b) != -b.Compare(a) || (a.Compare(b) == 0) != (a == b) {
			t.Fatalf("%v and %v: %d, %d", a, b, a.Compare(b), b.Compare(a))
		}
		once := slices.SortedFunc(slices.Values(all), gang.Ticket.Compare)
		slices.Reverse(all)
		if again := slices.SortedFunc(slices.Values(all), gang.Ticket.Compare); !slices.Equal(once, again) {
			t.Fatalf("%v and %v", once, again)
		}
	})
	nine, ten := gang.Ticket{ID: "application_1_9999"}, gang.Ticket{ID: "application_1_10000"}
	if nine.Compare(ten) >= 0 {
		t.Error("an id of one digit more is later")
	}
}

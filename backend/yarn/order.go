package yarn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-project/muster/gang"
)

// behind says which gangs come first.
func (w *why) behind() {
	order := gathering(w.Gangs)
	at := slices.IndexFunc(order, func(p ranked) bool { return p.ID == w.App })
	if at <= 0 {
		return
	}
	var mine []ranked
	for _, p := range order[:at] {
		if meets(p.Partitions, order[at].Partitions) {
			mine = append(mine, p)
		}
	}
	if len(mine) == 0 {
		return
	}
	first := mine[0]
	name := first.ID
	if first.Job != "" {
		name = "job " + first.Job + " (" + first.ID + ")"
	}
	w.add(reasonBehind, map[string]float64{"ahead": float64(len(mine)), "gangs": float64(len(order))},
		"wait: gangs are served in the order of priority and then of submission; a higher priority comes first",
		"%s before this one: the first is %s of %s", come(len(mine)), name, first.User)
}

func come(gangs int) string {
	if gangs == 1 {
		return "1 gang comes"
	}
	return fmt.Sprintf("%d gangs come", gangs)
}

// ranked is a gang in the order of all.
type ranked struct {
	gang.Application
	ticket gang.Ticket
}

// gathering are the gangs that are not complete, the first one first.
func gathering(v gang.View) []ranked {
	byID := map[string]*gang.Application{}
	for i := range v.Applications {
		byID[v.Applications[i].ID] = &v.Applications[i]
	}
	var out []ranked
	for _, a := range v.Applications {
		if a.State != gang.Running || a.Progress > 0 || !a.Visible && a.Stamp.IsZero() {
			continue
		}
		out = append(out, ranked{a, gang.Claim(a, byID[a.First])})
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return a.ticket.Compare(b.ticket) })
	return out
}

// meets says that two gangs ask in one partition.
func meets(a, b []string) bool {
	if len(a) == 0 {
		a = []string{""}
	}
	if len(b) == 0 {
		b = []string{""}
	}
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return strings.EqualFold(x, y) })
	})
}

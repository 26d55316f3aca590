package gang_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-project/muster/gang"
)

const never = 1000 * time.Hour

// plant is a rule that is taken out.
type plant struct {
	in    feature             // of the random mixes in which its absence shows
	scene func(uint64) *world // or the case in which it shows
	turn  func(*world)        // takes it out by a clock
	play  policy              // or by other decisions
	ends  bool                // the absence must show as a job that never ends
}

// planted are the rules, each taken out. A test that cannot see the gap proves
// nothing about the rule.
var planted = map[string]plant{
	"R1: everybody holds what it gets":          {play: naive, ends: true},
	"R1: late arrivals are kept":                {in: feature{lag: true}, play: keepLate},
	"R2: a gang that lost a slot waits forever": {scene: nodeLost, turn: func(w *world) { w.times.Replace = never }, ends: true},
	"R3: nobody steps aside":                    {turn: func(w *world) { w.times.Yield, w.times.Stall = never, never }, ends: true},
	"R3: a job that stepped aside loses its ticket": {in: feature{lag: true}, turn: func(w *world) {
		for _, j := range w.jobs {
			j.forgets = true
		}
	}},
	"R4: tickets live forever":        {scene: wedgedHead, turn: func(w *world) { w.times.Dead = never }},
	"R5: an attempt has no end":       {in: feature{foreign: true, lag: true}, turn: func(w *world) { w.times.Try = never }},
	"R5: the head may starve":         {in: feature{foreign: true}, turn: func(w *world) { w.times.Starve = never }},
	"own slots may stand in the way":  {scene: ownSlots, play: withoutNodes, ends: true},
	"blind masters hold all they get": {scene: twoBlind, turn: func(w *world) { w.times.Hold, w.times.Expiry = never, never }, ends: true},
}

func keepLate(s gang.State, in gang.Snapshot, now time.Time) (gang.State, gang.Decision) {
	s, d := gang.Decide(s, in, now)
	if !d.Complete {
		d.Release = nil
	}
	return s, d
}

func withoutNodes(s gang.State, in gang.Snapshot, now time.Time) (gang.State, gang.Decision) {
	in.Nodes = nil
	return gang.Decide(s, in, now)
}

// TestEachRuleIsNeeded takes one rule out at a time. Then a mix does not end, or
// something happens that check forbids; with the rule the same mix is fine.
func TestEachRuleIsNeeded(t *testing.T) {
	for name, p := range planted {
		t.Run(name, func(t *testing.T) {
			for seed := range 1000 {
				w, horizon := p.world(seed)
				w.quiet = p.ends
				if p.turn != nil {
					p.turn(w)
				}
				if p.play != nil {
					w.decide = p.play
				}
				if w.run(horizon) {
					continue
				}
				t.Logf("mix %d shows it: %v\n%s", seed, w.broken, w.story())
				if whole, horizon := p.world(seed); !whole.run(horizon) {
					t.Fatalf("and does not end with the rule either: %v\n%s", whole.broken, whole.story())
				}
				return
			}
			t.Error("nothing in 1000 mixes shows that this rule is missing")
		})
	}
}

func (p plant) world(seed int) (*world, time.Duration) {
	if p.scene != nil {
		w := p.scene(uint64(seed))
		return w, w.horizon(40 * time.Minute)
	}
	return draw(seed, p.in)
}

// draw is one random mix by its number.
func draw(seed int, f feature) (w *world, horizon time.Duration) {
	g := rapid.Custom(func(t *rapid.T) *world {
		w, horizon = anyWorld(t, f)
		return w
	})
	return g.Example(seed), horizon
}

//go:build chaos

package yarn

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever the seed, the long form meets every cell that can be, and the short
// form every kind once; no job has two ends.
func TestJourneysMeetEveryCell(t *testing.T) {
	for s := range uint64(20) {
		for _, short := range []bool{false, true} {
			met := map[string]int{}
			for n, faults := range journeys(kinds, short, rand.New(rand.NewPCG(s, 6))) {
				ends := 0
				for i, f := range faults {
					met[f.kind.name+", "+f.moment]++
					if f.moment == ending || f.moment == stopping {
						ends++
					}
					if f.kind.why[f.moment] != "" {
						t.Errorf("seed %d, journey %d: %s at %s cannot be", s, n, f.kind.name, f.moment)
					}
					if i > 0 && slices.Index(moments, f.moment) < slices.Index(moments, faults[i-1].moment) {
						t.Errorf("seed %d, journey %d: %s comes after %s", s, n, f.moment, faults[i-1].moment)
					}
				}
				if ends > 1 {
					t.Errorf("seed %d, journey %d: has %d ends", s, n, ends)
				}
			}
			for _, k := range kinds {
				for _, m := range moments {
					n, can := met[k.name+", "+m], k.why[m] == ""
					if want := can && (!short || m == k.hurts); want != (n > 0) {
						t.Errorf("seed %d, short %v: %s at %s: %d times", s, short, k.name, m, n)
					}
				}
			}
		}
	}
}

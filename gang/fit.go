package gang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Code names a reason for programs.
type Code string

// The codes of reasons.
const (
	CodeTooLarge    Code = "too_large"    // one slot is larger than every node
	CodeTooMany     Code = "too_many"     // all nodes together have not enough
	CodeNoPlacement Code = "no_placement" // the sums would do, but no placement exists
	CodeQueueLimit  Code = "queue_limit"  // more than the queue's maximum
	CodeUserLimit   Code = "user_limit"   // more than one user may have
	CodeNoNode      Code = "no_node"      // the partition has no node
	CodeBehind      Code = "behind"       // another gang is first
	CodeYields      Code = "yields"       // it was preempted for another gang
	CodeGathering   Code = "gathering"    // first, and holds so many
	CodeTrying      Code = "trying"       // backfill
	CodeReplacing   Code = "replacing"    // complete, with lost slots
	CodeBlind       Code = "blind"        // others cannot be seen
	CodeUnseen      Code = "unseen"       // not yet shown as running
	CodeQueueFull   Code = "queue_full"   // the queue's maximum is in use
	CodeClusterFull Code = "cluster_full" // not enough is free
	CodeFragmented  Code = "fragmented"   // enough is free, but in pieces too small
)

// Fit is rule R0: it says why a gang can never be complete even with nothing
// else on the cluster, or nil if nothing forbids it. It refuses only what is
// certain; nodes and shares that are nil are unknown and forbid nothing. What is
// kept and has a node stands there, the rest must find room, too.
func Fit(need []Class, kept []Holding, nodes []Node, shares []Share) *Reason {
	all := slices.Clone(need)
	for i, k := range kept {
		if k.Node == "" {
			all = append(all, Class{Name: fmt.Sprintf("master %d", i+1), Size: k.Size, Partition: k.Partition, Minimum: 1})
		}
	}
	if nodes != nil {
		if r := fitNodes(all, kept, nodes); r != nil {
			return r
		}
	}
	for i := range shares {
		if r := fitShare(need, kept, nodes, &shares[i]); r != nil {
			return r
		}
	}
	return nil
}

func fitNodes(all []Class, kept []Holding, nodes []Node) *Reason {
	r := emptyRoom(nodes, kept)
	for _, c := range all {
		if c.Minimum == 0 {
			continue
		}
		largest, n := Size{}, 0
		fits := false
		for i := range r.spots {
			if s := &r.spots[i]; s.takes(c) {
				n++
				fits = fits || c.Size.Fits(s.whole)
				for k, v := range s.whole {
					largest[k] = max(largest[k], v)
				}
			}
		}
		if n == 0 {
			return &Reason{Code: CodeNoNode, Text: fmt.Sprintf("%s needs %d slots in %s, which has no node", c.Name, c.Minimum, partition(c.Partition)),
				Numbers: map[string]float64{"needed": float64(c.Minimum), "nodes": 0}}
		}
		if !fits {
			return &Reason{Code: CodeTooLarge, Text: fmt.Sprintf("%s needs %v in one slot; no node in %s has that (most on any node: %v)", c.Name, c.Size, partition(c.Partition), largest),
				Numbers: numbers("needed", c.Size, "largest", largest)}
		}
	}
	for _, p := range partitions(all) {
		sum, there := total(all, p), Size{}
		for i := range r.spots {
			if s := &r.spots[i]; s.partition == p || s.shared && p == "" {
				there = there.Plus(s.free, 1)
			}
		}
		if !sum.Fits(there) {
			return &Reason{Code: CodeTooMany, Text: fmt.Sprintf("%s at once need %v; all nodes in %s together have %v beside this job's own master", list(all, p), sum, partition(p), there),
				Numbers: numbers("needed", sum, "there", there)}
		}
	}
	if p := pack(all, r); !p.fits && p.sure {
		return &Reason{Code: CodeNoPlacement, Text: fmt.Sprintf("%s cannot stand on %d nodes all at once, although these are large enough together", list(all, anyPartition), len(nodes)),
			Numbers: map[string]float64{"nodes": float64(len(nodes))}}
	}
	return nil
}

func fitShare(need []Class, kept []Holding, nodes []Node, s *Share) *Reason {
	sum := total(need, s.Partition)
	if len(sum) == 0 {
		return nil
	}
	for _, k := range kept {
		if k.Partition == s.Partition {
			sum = sum.Plus(k.Size, 1)
		}
	}
	lent := Size{} // of other partitions, beyond the limits
	for _, n := range nodes {
		if n.Shared && s.Partition == "" && n.Partition != "" {
			lent = lent.Plus(n.Capability, 1)
		}
	}
	if s.Maximum != nil && !sum.within(s.Maximum, lent) {
		return &Reason{Code: CodeQueueLimit, Text: fmt.Sprintf("%s and the master need %v; the queue may have at most %v in %s", list(need, s.Partition), sum, s.Maximum, partition(s.Partition)),
			Numbers: numbers("needed", sum, "maximum", s.Maximum)}
	}
	if s.UserLimit != nil && !sum.within(s.UserLimit, lent) {
		return &Reason{Code: CodeUserLimit, Text: fmt.Sprintf("%s and the master need %v; one user of the queue may have at most %v in %s", list(need, s.Partition), sum, s.UserLimit, partition(s.Partition)),
			Numbers: numbers("needed", sum, "limit", s.UserLimit)}
	}
	return nil
}

// within says that s stays below a limit in every resource which the limit
// names, more of it being lent.
func (s Size) within(limit, lent Size) bool {
	for k, most := range limit {
		if s[k] > 0 && s[k] > most+lent[k] {
			return false
		}
	}
	return true
}

// fit applies R0 at every decision, since nodes come and go. What never fits is
// refused before it is submitted, so a gang that does not fit now waits for
// Unfit, holding nothing, for nodes to come back.
func (d *decider) fit() bool {
	if d.lacking() == nil && (d.complete || d.lapsed) {
		return true
	}
	r := Fit(d.in.Need, d.in.Kept, d.in.Nodes, d.in.Shares)
	if r == nil {
		d.unfit = time.Time{}
		return true
	}
	if d.unfit.IsZero() {
		d.unfit = d.now
	}
	if d.now.Sub(d.unfit) >= d.in.Times.Unfit {
		d.out.Refuse = r
		if !d.complete && !d.lapsed {
			d.drop()
		}
		return false
	}
	d.wait(r.Code, fmt.Sprintf("does not fit, and is refused if that lasts %s more: %s", d.left(d.unfit, d.in.Times.Unfit), r.Text), r.Numbers)
	if d.complete || d.lapsed {
		return true
	}
	d.drop()
	return false
}

// anyPartition is no partition's name.
const anyPartition = "*"

func partition(p string) string {
	if p == "" {
		return "the default partition"
	}
	return "partition " + p
}

func partitions(classes []Class) []string {
	set := map[string]bool{}
	for _, c := range classes {
		set[c.Partition] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// total is what the minima of a partition's classes need together.
func total(classes []Class, p string) Size {
	var sum Size
	for _, c := range classes {
		if c.Partition == p && c.Minimum > 0 {
			sum = sum.Plus(c.Size, c.Minimum)
		}
	}
	return sum
}

func list(classes []Class, p string) string {
	var parts []string
	for _, c := range classes {
		if (c.Partition == p || p == anyPartition) && c.Minimum > 0 {
			parts = append(parts, fmt.Sprintf("%d %s of %v", c.Minimum, c.Name, c.Size))
		}
	}
	return strings.Join(parts, " and ")
}

// numbers names the resources of sizes: needed.memory-mb, there.memory-mb, …
func numbers(pairs ...any) map[string]float64 {
	out := map[string]float64{}
	for i := 0; i+1 < len(pairs); i += 2 {
		for k, v := range pairs[i+1].(Size) {
			out[pairs[i].(string)+"."+k] = float64(v)
		}
	}
	return out
}

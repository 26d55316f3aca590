// Package gang decides which job may hold what, on a resource manager that hands
// out slots one by one and knows nothing of gangs: the ticket rule. What one
// master sees at a moment comes in (Snapshot, with the time), what it shall do
// until the next beat goes out (Decision). It does no I/O, reads no clock and
// draws no numbers: every master that sees the same decides the same, and the
// rule can be run against a simulated resource manager. README.md has the rule
// in prose, with the argument why it always ends.
//
// How a backend uses it:
//
//	state := gang.State{}                       // or Resume after a takeover
//	at every beat:
//	    if !now.Before(decision.Look) { view = look up; now tickets are read, own one refreshed }
//	    state, decision = gang.Decide(state, Snapshot{…}, now)
//	    send decision.Ask (absolute) and decision.Release with the next allocate
//	    tell Waiting; act on Complete, Rejoin, Aside, Refuse
//
//	          ┌──────────── somebody older gathers ────────────┐
//	          ▼                                                │
//	       waiting ── first in rank ──▶ gathering ── minimum held ──▶ complete
//	        │  │ ▲                        ▲    │                       │   │
//	        │  │ └── T_try over ── trying ┘    │ cannot fit            │   │ a slot lost, and none
//	        │  └─ all fits now ──▶  (backfill) ▼                       │   │ for T_replace
//	        ▼                              refused                    end  ▼
//	      aside  (its keeper submits it again, with its old ticket)      waiting, old ticket
package gang

// Package ledger keeps the containers of one job on YARN. What its coordinator
// wants (requests, launches, releases) and what the cluster says (answers of
// the resource manager, words of the nodes, look-ups of other gangs) come in,
// each with the time; what is to be said to the resource manager (Beat), what
// to do on nodes (Work) and what the coordinator is to be told (events) come
// out. It does no I/O and reads no clock. Which gang may hold what is decided by
// package gang; the ledger knows what became of each container:
//
//	         gang complete        Launch             the node says that it runs
//	held ───────────────▶ granted ──────▶ starting ──────────────────▶ running
//	  │ given back           │ Release       │ Release, or never ran      │ Release
//	  ▼                      ▼               ▼                            ▼
//	 (forgotten)            Gone        stopped ──▶ Started.Err or Gone  stopped ──▶ Gone
//
// A slot is Gone only on the word of the resource manager or of its node that
// its container has ended.
package ledger

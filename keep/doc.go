// Package keep keeps the logs of tasks where they outlive the task's machine:
// bytes and times of capture's logs come in, chunks in a storage.FS go out, and
// on another machine capture's logs again.
//
//	executor                     storage                    client, coordinator
//	N.out, N.err  ──  Writer ──→ <job>/logs/<task>/<incarnation>/000001 … ──┐
//	              ──  Copy   ──→ live, over the link, on demand ────────────┴→ Mirror → N.out, N.err
//
// A chunk is a zstd stream of frames (see Frame) for all streams of one
// incarnation, in a file of its own that is created exclusively: its name is a
// running number of at least six digits. A chunk whose writing failed stays torn
// and the next one says its bytes again: offsets decide what is new, so chunks
// and live frames may overlap, come twice, or end anywhere. Bytes that were lost
// before they could be kept are a jump of the offset.
package keep

// Package capture stores and shows the output of processes: bytes come in from a
// pipe and go, untouched, into size-capped files; lines with their times come
// out, safe to show.
//
// A log is a file, the older parts that it was rotated into, and an index of
// times beside each:
//
//	0.out    0.out.1    0.out.2     bytes as written, newest part first
//	0.out.idx 0.out.1.idx …         records of 16 bytes: offset, Unix nanoseconds
//
// Offsets count from the first byte ever stored in the log, so they survive
// rotation. The first record of an index is the offset at which its part begins.
// What a record says holds until the next one; there is at most one in 100 ms.
//
// Rotation moves the parts from the oldest to the newest, each before its
// index. So a part may for a moment lack its index but never has another's, and
// a reader that finds the same file at a name before and after reading the index
// beside it has the pair.
//
// A Copy is a log that was read elsewhere. Where bytes of it are missing, a part
// begins behind the end of its elder.
package capture

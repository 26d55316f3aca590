// Package archive packs a directory into one stream and unpacks streams into
// directories. A directory comes in and a tar.zst comes out, the same bytes
// for the same content, so that its hash can be its address; or an archive
// comes in, ours or a user's zip or tar, and a whole directory comes out or none.
//
// What an archive of ours keeps: names as bytes, contents, permission bits,
// symbolic links as they are (also dangling ones and those that point outside),
// empty directories. What it leaves out, because it differs between two
// checkouts of the same content: owners, times, which files are hard links of
// each other, and where a file has holes. Sockets, pipes and devices have no
// content and are passed over.
package archive

import (
	"time"
)

// Options says what Pack leaves out.
type Options struct {
	// Ignore holds further patterns in the language of .gitignore, relative to
	// the packed directory. They have the last word.
	Ignore []string
	// Exclude holds absolute paths that are left out wherever they turn up, such
	// as muster's own state directory when it lies inside the packed one.
	Exclude []string
}

// Summary is what Pack did.
type Summary struct {
	Files   int      // regular files
	Bytes   int64    // their contents
	Skipped []string // what has no content to pack, with the reason
}

// stamp is the time of every entry. Not 1970: zip, and so every tool that builds
// Python packages, refuses times before 1980.
var stamp = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Package python is the Python module that tasks report their progress with: it
// comes in by embedding, and goes out as files, which the executor puts where
// every task of a job finds them.
package python

import (
	"embed"
	"io/fs"
)

//go:embed muster/*.py muster/py.typed
var module embed.FS

// Files is the module: a directory muster, to be put on PYTHONPATH.
func Files() fs.FS { return module }

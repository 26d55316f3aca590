// Package python is the Python module that tasks report their progress with: it
// comes in by embedding, and goes out as one file, which the executor puts where
// every task of a job finds it.
package python

import _ "embed"

// Module is the source of the module muster. It is a package of one file where
// it is installed, since only packages can say that they are typed.
//
//go:embed muster/__init__.py
var Module []byte

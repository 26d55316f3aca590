// Command mark is the trivial process of the benchmark beside it: it notes in a
// folder when it runs, and ends, or first waits until a file is there.
//
//	mark DIR [FILE]
package main

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	now := time.Now().UnixNano()
	if len(os.Args) < 2 || os.WriteFile(filepath.Join(os.Args[1], strconv.Itoa(os.Getpid())), strconv.AppendInt(nil, now, 10), 0o600) != nil {
		os.Exit(1)
	}
	if len(os.Args) < 3 {
		return
	}
	again := time.NewTicker(10 * time.Millisecond)
	for range again.C {
		if _, err := os.Stat(os.Args[2]); err == nil {
			return
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// line is 100 bytes, as a training would print them.
var line = []byte("step 001234 of 100000  loss 0.01234  accuracy 0.98765  lr 0.00100  12.3 it/s  eta 01:23:45 (rank 0)\n")

// write is the program whose output is kept: it writes lines to standard output
// in blocks, and leaves the figures of that in a file.
func write(args []string) error {
	var size, block int64
	if len(args) != 3 {
		return fmt.Errorf("write: a size, the size of a block and a file are wanted")
	}
	if _, err := fmt.Sscan(args[0]+" "+args[1], &size, &block); err != nil {
		return err
	}
	buf := bytes.Repeat(line, int(block)/len(line)+1)[:block]
	took := make([]time.Duration, 0, size/block+1)
	begin := time.Now()
	for left := size; left > 0; left -= block {
		before := time.Now()
		if _, err := os.Stdout.Write(buf[:min(left, block)]); err != nil {
			return err
		}
		took = append(took, time.Since(before))
	}
	f := figures{Seconds: time.Since(begin).Seconds(), Writer: used(syscall.RUSAGE_SELF).Seconds()}
	slices.Sort(took)
	f.Longest, f.Usual = took[len(took)-1].Seconds(), took[(len(took)-1)*999/1000].Seconds()
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(args[2], data, 0o600)
}

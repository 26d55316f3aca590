// Command executor runs one slot of a job: the same executor that muster has
// behind a hidden verb, as a small binary of its own for clusters.
package main

import (
	"context"
	"os"

	"github.com/muster-project/muster/executor"
)

func main() {
	os.Exit(executor.Main(context.Background(), executor.Program{
		Self: executor.Self(), Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}, os.Args[1:]))
}

// Command executor runs one slot of a job: the same executor that muster has
// behind a hidden verb, as a small binary of its own for clusters.
package main

import (
	"context"
	"os"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/executor/container"
)

func main() {
	os.Exit(executor.Main(context.Background(), executor.Program{
		Self: executor.Self(), Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Births: map[string]executor.Birth{"container": container.Birth},
	}, os.Args[1:]))
}

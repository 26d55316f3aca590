// Command muster is the command line, the coordinator, the executor and the
// server in one binary. What the process was given goes into cli.Env; what
// cli.Run returns is the exit status.
package main

import (
	"os"
	"time"

	"github.com/muster-project/muster/cli"
	"github.com/muster-project/muster/internal/frugal"
)

func main() {
	frugal.Set(4, os.Environ()) // most verbs wait for others, and some for days
	signals := cli.Notify()
	dir, _ := os.Getwd() // a deleted directory is told by the verbs that need one
	os.Exit(cli.Run(cli.Env{
		Args: os.Args, Environ: os.Environ(), Dir: dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Signals: signals, Now: time.Now,
	}))
}

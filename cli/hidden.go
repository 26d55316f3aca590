package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/executor/container"
)

// The hidden verbs are muster's own processes. People meet them in ps only.

func (e *Env) coordinatorCommand() *cobra.Command {
	var dir, seal string
	var inYARN bool
	cmd := &cobra.Command{
		Use: "coordinator --job DIR | --yarn", Hidden: true, Args: count(0, 0, ""),
		Short: "drive one job (started by the server)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := e.until(cmd.Context())
			defer stop()
			if inYARN {
				return e.attempt(ctx)
			}
			return e.coordinate(ctx, dir, seal)
		},
	}
	cmd.Flags().StringVar(&dir, "job", "", "the job's directory")
	cmd.Flags().StringVar(&seal, "seal", "", "only end the job, for this reason")
	cmd.Flags().BoolVar(&inYARN, "yarn", false, "as the master of a YARN application, in its container")
	cmd.MarkFlagsOneRequired("job", "yarn")
	cmd.MarkFlagsMutuallyExclusive("job", "yarn")
	return cmd
}

// executorCommand is the executor where no smaller binary is embedded; behind it
// is also the guardian. Its flags are its own.
func (e *Env) executorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "executor", Hidden: true, DisableFlagParsing: true,
		Short: "run one task (started by a backend)",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, _ := e.Stdin.(*os.File)
			out, _ := e.Stdout.(*os.File)
			status := executor.Main(cmd.Context(), executor.Program{
				Self: executor.Self("executor"), Environ: e.Environ, Stdin: in, Stdout: out, Stderr: e.Stderr,
				Births: map[string]executor.Birth{"container": container.Birth},
			}, args)
			if status != 0 {
				return verdictStatus(status)
			}
			return nil
		},
	}
}

// linesCommand prints what the tasks of a job printed, for the server of all
// users, with the rights of the job's owner. It ends with its input at the latest.
func (e *Env) linesCommand() *cobra.Command {
	var dir string
	f := logsFlags{data: true}
	cmd := &cobra.Command{
		Use: "lines --job DIR", Hidden: true, Args: count(0, 0, ""),
		Short: "print the logs of one job as data (started by the server)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := e.until(cmd.Context())
			defer stop()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() { // its read ends with the process
				defer cancel()
				_, _ = io.Copy(io.Discard, e.Stdin)
			}()
			j, err := openJob(dir)
			if err != nil {
				return err
			}
			return e.logs(ctx, j, f)
		},
	}
	cmd.Flags().StringVar(&dir, "job", "", "the job's directory")
	_ = cmd.MarkFlagRequired("job")
	f.flags(cmd.Flags())
	return cmd
}

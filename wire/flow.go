package wire

import "github.com/muster-project/muster/wire/internal/pb"

func callOut(c Call) *pb.Call {
	return &pb.Call{Version: Version, Peer: c.Peer, Incarnation: int64(c.Incarnation), Argv: c.Argv, Env: c.Env}
}

func callIn(c *pb.Call) Call {
	return Call{Peer: c.GetPeer(), Incarnation: int(c.GetIncarnation()), Argv: c.GetArgv(), Env: c.GetEnv()}
}

func flowOut(f Flow) *pb.Flow {
	return &pb.Flow{Stdin: f.Stdin, StdinEnd: f.StdinEnd, Signal: f.Signal, Stdout: f.Stdout, Stderr: f.Stderr,
		Taken: int64(f.Taken), Exit: exitOut(f.Exit), Refused: f.Refused}
}

func flowIn(f *pb.Flow) Flow {
	return Flow{Stdin: f.GetStdin(), StdinEnd: f.GetStdinEnd(), Signal: f.GetSignal(), Stdout: f.GetStdout(), Stderr: f.GetStderr(),
		Taken: int(f.GetTaken()), Exit: exitIn(f.GetExit()), Refused: f.GetRefused()}
}

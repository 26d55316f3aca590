package process

import (
	"encoding/json"
	"syscall"
	"time"
)

// The executor and its guardian talk in JSON over two pipes, the guardian's
// stdin and stdout. Arguments, environments and paths go as bytes, since JSON
// would alter those that are not UTF-8. A specification never travels in argv,
// where every user of the machine could read the environments in it.

// order goes from executor to guardian. The first has Spec; in others exactly
// one field is set. The end of the pipe is the order to kill everything.
type order struct {
	Spec   *Spec        `json:",omitempty"`
	Stop   *stopOrder   `json:",omitempty"`
	Signal *signalOrder `json:",omitempty"`
	Exec   *execOrder   `json:",omitempty"`
	Hit    *hitOrder    `json:",omitempty"`
}

type stopOrder struct {
	Signal syscall.Signal
	Grace  time.Duration
	Now    bool
}

type signalOrder struct {
	ID     int
	Signal syscall.Signal
}

// execOrder asks for one more process. Its three files are opened by these
// paths, which name descriptors of the executor.
type execOrder struct {
	ID    int
	Proc  Proc
	Files [3]string
}

// hitOrder sends a signal to a process that execOrder started: to its group, or
// with All to all of its session.
type hitOrder struct {
	ID     int
	Signal syscall.Signal
	All    bool
}

// report goes from guardian to executor. Exactly one field is set. Started is
// the first, Result the last.
type report struct {
	Started *started `json:",omitempty"`
	Answer  *answer  `json:",omitempty"`
	Exec    *execed  `json:",omitempty"`
	Usage   *Usage   `json:",omitempty"`
	Result  *Result  `json:",omitempty"`
}

type started struct {
	PIDs    []int    // 0 where a process did not start
	Cgroups [][]byte // their directories
}

type answer struct {
	ID    int
	Error string
}

// execed answers execOrder twice: when the process runs, with its pid, and with
// Exit when it has ended. One that did not start has its Error in Exit.
type execed struct {
	ID   int
	PID  int
	Exit *Exit `json:",omitempty"`
}

// sentProc is a Proc on its way.
type sentProc struct {
	Argv, Env           [][]byte
	Dir, Stdout, Stderr []byte
}

// MarshalJSON gives the form that UnmarshalJSON takes; both keep every byte.
func (p Proc) MarshalJSON() ([]byte, error) {
	return json.Marshal(sentProc{asBytes(p.Argv), asBytes(p.Env), []byte(p.Dir), []byte(p.Stdout), []byte(p.Stderr)})
}

// UnmarshalJSON takes what MarshalJSON gave.
func (p *Proc) UnmarshalJSON(data []byte) error {
	var s sentProc
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*p = Proc{asText(s.Argv), asText(s.Env), string(s.Dir), string(s.Stdout), string(s.Stderr)}
	return nil
}

func asBytes(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

func asText(words [][]byte) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

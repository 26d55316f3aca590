package executor

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire"
)

// A task's programs reach other tasks of their job without ssh: they start the
// agent (verb agent of this binary), the agent asks the executor of its own task
// by a socket in the task's directory, and that one calls the executor of the
// other task. So no program of a task ever holds a key.
//
//	mpirun ─ agent ──socket── executor ══ TLS ══ executor ── guardian ─ daemon of MPI
//
// Only the user of the job can open the socket.

// agentFile is the socket, in MUSTER_DIR.
const agentFile = "agent"

// agent is the open socket of an incarnation.
type agent struct {
	ln    net.Listener
	dir   *os.File
	peers map[string]plan.Peer
}

// openAgent opens the socket; nil where the launch names nobody who may be
// reached.
func openAgent(dir string, peers map[string]plan.Peer) (*agent, error) {
	if len(peers) == 0 {
		return nil, nil //nolint:nilnil // no agent is no failure
	}
	d, path, err := socketIn(dir)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(filepath.Join(dir, agentFile)) // of an executor that was killed
	ln, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err == nil {
		err = os.Chmod(filepath.Join(dir, agentFile), 0o600)
	}
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("%s: cannot listen: %w", filepath.Join(dir, agentFile), err)
	}
	return &agent{ln: ln, dir: d, peers: peers}, nil
}

// socketIn names the socket through an open directory: an address of a socket
// has 107 bytes, and the directories of a cluster's nodes have more.
func socketIn(dir string) (*os.File, string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", dir, cause(err))
	}
	return d, "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) + "/" + agentFile, nil
}

func (a *agent) close() {
	if a != nil {
		_ = a.ln.Close()
		_ = a.dir.Close()
	}
}

// serveAgent answers the programs of an incarnation until ctx is done.
func (e *executor) serveAgent(ctx context.Context, a *agent) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer a.close()
	stop := context.AfterFunc(ctx, func() { _ = a.ln.Close() })
	defer stop()
	for {
		conn, err := a.ln.Accept()
		if err != nil {
			if ctx.Err() == nil {
				e.log.Error("agent lost: programs of this task reach no other task any more", "error", err)
			}
			return
		}
		wg.Go(func() {
			if err := e.connect(ctx, conn, a.peers); err != nil {
				e.log.Debug("call of the task's own", "error", err)
			}
		})
	}
}

// connect carries one call of the task's own programs to the executor that it
// is meant for.
func (e *executor) connect(ctx context.Context, conn net.Conn, peers map[string]plan.Peer) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	near, call, err := wire.TakeCall(conn)
	if err != nil {
		return err
	}
	to, ok := peers[call.Peer]
	if !ok {
		near.Refuse(fmt.Sprintf("%s: no such task; this one reaches %s", call.Peer, strings.Join(slices.Sorted(maps.Keys(peers)), ", ")))
		return nil
	}
	conf, err := wire.Peer(e.Authority, e.Cert, e.Key, to.Task)
	if err != nil {
		near.Refuse(err.Error())
		return err
	}
	call.Incarnation = to.Incarnation
	far, err := wire.DialCall(ctx, to.Control, conf, call)
	if err != nil {
		near.Refuse(fmt.Sprintf("%s: cannot be reached: %v", call.Peer, err))
		return err
	}
	wire.Relay(ctx, near, far)
	return nil
}

// agentWords is the agent's command line as words of a shell. The binary is named
// by our own process, which outlives the task and keeps the file of a binary
// that was replaced meanwhile.
func agentWords(argv []string) string {
	var words []string
	for i, w := range argv {
		if i == 0 && w == "/proc/self/exe" {
			w = "/proc/" + strconv.Itoa(os.Getpid()) + "/exe"
		}
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

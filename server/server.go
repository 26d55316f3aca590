package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
)

// Server is one running server.
type Server struct {
	Config
	self   Person
	engine *local.Engine

	submitting sync.Mutex // one submission is stored at a time
	readers    atomic.Int32
	owned      sync.WaitGroup
	life       context.Context // of everything the server started
	end        context.CancelFunc

	mu      sync.Mutex
	socket  net.Listener
	place   fs.FileInfo // of the socket, as we made it
	jobs    map[string]*job
	homes   map[int]*home
	away    int       // jobs on clusters that are tended
	busy    int       // requests that are being answered
	last    time.Time // of the newest sign of life; monotonic
	closing bool
}

// Run serves until the context ends, somebody asks it to stop, or nobody needed
// it for as long as it may idle. Coordinators go on without it.
func Run(ctx context.Context, c Config) error {
	s, err := prepare(ctx, c)
	if err != nil {
		return err
	}
	defer s.end()
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	defer s.closeHomes()
	return s.run()
}

func prepare(ctx context.Context, c Config) (*Server, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	groups, _ := os.Getgroups()
	s := &Server{Config: c, jobs: map[string]*job{}, homes: map[int]*home{}, last: time.Now()}
	s.self = person(os.Getuid(), os.Getgid(), ids(groups))
	s.life, s.end = context.WithCancel(ctx)
	if s.Shared && !s.self.root() {
		return nil, errors.New("serve: a server for all users must be root's")
	}
	m, err := local.Inventory(s.Machine)
	if err != nil {
		return nil, err
	}
	s.engine = local.NewEngine(m, s.Machine, local.Ledger{Dirs: s.Claims}, s.Log)
	return s, nil
}

func ids(groups []int) []uint32 {
	out := make([]uint32, len(groups))
	for i, g := range groups {
		out[i] = uint32(g)
	}
	return out
}

// lock makes sure that a state directory has one server. It waits a little for
// one that is just ending.
func (s *Server) lock(ctx context.Context) (*os.File, error) {
	mode := fs.FileMode(0o700)
	if s.Shared {
		mode = 0o755
	}
	if err := os.MkdirAll(s.State, mode); err != nil {
		return nil, unwritable(s.State, err)
	}
	if s.Shared {
		if err := os.MkdirAll(filepath.Join(s.State, "users"), 0o755); err != nil {
			return nil, unwritable(s.State, err)
		}
	}
	f, err := local.LockFileFor(ctx, filepath.Join(s.State, "serve.lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: another server has this state directory: %w", s.State, err)
	}
	return f, nil
}

func (s *Server) run() error {
	listener, err := s.listen()
	if err != nil {
		return err
	}
	jobs, err := s.loadJobs()
	if err != nil {
		listener.Close()
		return err
	}
	s.engine.Expect(living(jobs))
	s.owned.Go(func() { s.engine.Run(s.life) })
	s.owned.Go(func() { s.tendAway(s.life) })
	for _, j := range jobs {
		s.take(j)
	}
	web := &http.Server{Handler: s.handler(), ConnContext: withPeer, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return s.life },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	s.owned.Go(func() { s.watch(web) })
	s.Log.Info("serving", "socket", s.Socket, "state", s.State, "jobs", len(jobs))
	for {
		if err = web.Serve(listener); s.life.Err() != nil || !errors.Is(err, net.ErrClosed) {
			break
		}
		// The socket was swept away under us: people would find no server.
		if listener, err = s.listen(); err != nil {
			break
		}
	}
	s.end()
	s.owned.Wait()
	os.Remove(s.Socket) // ours as long as we hold the lock
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", s.Socket, err)
	}
	s.Log.Info("ended")
	return nil
}

// listen opens the socket. Only its owner reaches a user's own one; everybody
// reaches an administrator's, and the kernel says who they are.
func (s *Server) listen() (net.Listener, error) {
	mode, dirMode := fs.FileMode(0o600), fs.FileMode(0o700)
	if s.Shared {
		mode, dirMode = 0o666, 0o755
	}
	if err := os.MkdirAll(filepath.Dir(s.Socket), dirMode); err != nil {
		return nil, unwritable(filepath.Dir(s.Socket), err)
	}
	l, err := api.Listen(s.Socket)
	if err != nil {
		return nil, err
	}
	err = os.Chmod(s.Socket, mode)
	place, serr := os.Lstat(s.Socket)
	if err := errors.Join(err, serr); err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: its mode cannot be set: %w", s.Socket, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket, s.place = l, place
	return l, nil
}

// swept says that the socket is not where it was: somebody cleaned up a
// directory, or the user logged out of a runtime directory. Closing ours makes
// run listen anew.
func (s *Server) swept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, err := os.Lstat(s.Socket); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.place) {
		s.Log.Warn("socket was swept away", "socket", s.Socket)
		s.socket.Close()
	}
}

// watch ends the server when it is told to or idle.
func (s *Server) watch(web *http.Server) {
	tick := time.NewTicker(min(max(s.Idle/10, 20*time.Millisecond), time.Second))
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-s.life.Done():
			open = false
		case <-tick.C:
			s.swept()
			open = !s.idle()
		}
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end() // ends every stream that is still followed
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		web.Close()
	}
}

// idle says that nobody needed the server for as long as it may idle; from then
// on it takes nothing new.
func (s *Server) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Idle <= 0 || s.busy > 0 || s.open() > 0 {
		s.last = time.Now()
		return false
	}
	if time.Since(s.last) < s.Idle {
		return false
	}
	s.closing = true
	return true
}

// open counts jobs that are not sealed, here and on clusters. Under the lock.
func (s *Server) open() int {
	n := s.away
	for _, j := range s.jobs {
		if j.sealed == nil && !j.abandoned {
			n++
		}
	}
	return n
}

func (s *Server) touched() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// take makes a job the server's own and keeps its coordinator alive.
func (s *Server) take(j *job) {
	s.mu.Lock()
	s.jobs[j.id] = j
	s.mu.Unlock()
	s.owned.Go(func() { s.supervise(s.life, j) })
}

func (s *Server) job(id string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[id]
}

// list gives all jobs, newest first.
func (s *Server) list() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Or(b.submitted.Compare(a.submitted), cmp.Compare(b.id, a.id)) })
	return jobs
}

func (s *Server) homeOf(p Person) (*home, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.homes[p.UID]; h != nil {
		return h, nil
	}
	h, err := openHome(&s.Config, p)
	if err == nil {
		s.homes[p.UID] = h
	}
	return h, err
}

func (s *Server) closeHomes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.homes {
		h.close()
	}
}

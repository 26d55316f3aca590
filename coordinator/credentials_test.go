package coordinator

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/wire"
)

// source gives what a test puts into it.
type source struct {
	mu      sync.Mutex
	serial  int64
	changed chan struct{}
}

func (s *source) Newest() (int64, []byte, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serial, []byte{byte(s.serial)}, s.changed
}

func (s *source) put(serial int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = serial
	close(s.changed)
	s.changed = make(chan struct{})
}

// reception is the links of a job, without anything else of a coordinator.
type reception struct {
	t    *testing.T
	auth *wire.Authority
	addr string
}

func newReception(t *testing.T, from Credentials) *reception {
	t.Helper()
	auth, err := wire.NewAuthority("m-1")
	if err != nil {
		t.Fatal(err)
	}
	conf, err := auth.Coordinator()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &links{in: newInbox(), term: 1, timing: plan.Timing{Beat: spec.Duration(time.Second)}, slots: map[string]*presence{}, progress: newReports(1, time.Now())}
	srv := &wire.Server{TLS: conf, Handler: l}
	ctx, cancel := context.WithCancel(context.Background())
	var owned sync.WaitGroup
	owned.Go(func() {
		if err := srv.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	})
	owned.Go(func() { l.supply(ctx, from) })
	t.Cleanup(func() { cancel(); owned.Wait() })
	return &reception{t: t, auth: auth, addr: ln.Addr().String()}
}

// executor connects as one and gives a channel of the numbers that it is told.
func (r *reception) executor(index int) (told <-chan int64, hangUp func()) {
	r.t.Helper()
	task := plan.TaskID{Role: "worker", Index: index}
	cert, key, err := r.auth.Issue(task)
	if err != nil {
		r.t.Fatal(err)
	}
	conf, err := wire.Executor(r.auth.Certificate(), cert, key)
	if err != nil {
		r.t.Fatal(err)
	}
	conn, _, err := wire.Dialer{}.Dial(r.t.Context(), r.addr, conf, wire.Hello{Job: "m-1", Task: task, Slot: "s-" + task.String(), Phase: wire.PhaseIdle})
	if err != nil {
		r.t.Fatal(err)
	}
	out := make(chan int64, 10)
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			d, err := conn.Recv()
			if err != nil {
				return
			}
			if c := d.Credentials; c != nil {
				if len(c.Data) != 1 || int64(c.Data[0]) != c.Serial {
					r.t.Errorf("%+v", c)
				}
				out <- c.Serial
			}
		}
	})
	hangUp = sync.OnceFunc(func() { _ = conn.Close(); reading.Wait() })
	r.t.Cleanup(hangUp)
	return out, hangUp
}

func next(t *testing.T, told <-chan int64) int64 {
	t.Helper()
	select {
	case n := <-told:
		return n
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was told")
		return 0
	}
}

func TestEveryExecutorHasTheNewestCredentials(t *testing.T) {
	s := &source{changed: make(chan struct{})}
	r := newReception(t, s)
	first, hangUp := r.executor(0)
	second, _ := r.executor(1)
	s.put(3)
	got := []int64{next(t, first), next(t, second)}
	s.put(2) // older ones are nobody's business
	s.put(7)
	got = append(got, next(t, first), next(t, second))
	// Who comes back and who comes late has them at once.
	hangUp()
	again, _ := r.executor(0)
	third, _ := r.executor(2)
	got = append(got, next(t, again), next(t, third))
	if diff := cmp.Diff([]int64{3, 3, 7, 7, 7, 7}, got); diff != "" {
		t.Error(diff)
	}
	for _, told := range []<-chan int64{again, second, third} {
		select {
		case n := <-told:
			t.Errorf("told once more: %d", n)
		default:
		}
	}
}

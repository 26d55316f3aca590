package yarn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// pool makes a pool whose nodes are the fake, to which the user is the token.
func pool(f *fake, l Limits) *Nodes {
	n := NewNodes(l)
	n.config = func(addr string, t *token.Token) rpc.Config {
		c := n.withToken(addr, t)
		c.Auth, c.Dial = as(string(t.Identifier)), f.dial
		return c
	}
	return n
}

func nmToken(node int32, id string) *yarnpb.NMToken {
	return &yarnpb.NMToken{
		NodeId: &yarnpb.NodeId{Host: proto.String("node"), Port: &node},
		Token:  &ipcpb.Token{Identifier: []byte(id), Password: []byte("x"), Kind: proto.String(token.KindNM), Service: proto.String("")},
	}
}

func nodeAddr(n int32) string { return fmt.Sprintf("node:%d", n) }

func cid(n int64) ContainerID {
	return ContainerID{Attempt: AttemptID{App: AppID{Cluster: 1, Number: 1}, Number: 1}, Number: n}
}

func refused(id ContainerID, class rpc.Exception, text string) *yarnpb.ContainerFailure {
	return &yarnpb.ContainerFailure{ContainerId: id.Proto(), Exception: &yarnpb.SerializedException{
		ClassName: proto.String(string(class)), Message: proto.String(text),
	}}
}

func TestStart(t *testing.T) {
	tests := map[string]struct {
		failed []*yarnpb.ContainerFailure
		known  []ContainerID // what getContainerStatuses knows
		done   []ContainerID
		errs   map[ContainerID]rpc.Exception
	}{
		"started": {done: []ContainerID{cid(1)}},
		"runs already": {
			failed: []*yarnpb.ContainerFailure{refused(cid(2), Failure, "Attempt to relaunch the same container with id container_1")},
			known:  []ContainerID{cid(2)},
			done:   []ContainerID{cid(1), cid(2)},
		},
		"ran already, and was forgotten": {
			failed: []*yarnpb.ContainerFailure{refused(cid(2), Failure, "Container container_1 already is running on this node!!")},
			done:   []ContainerID{cid(1)},
			errs:   map[ContainerID]rpc.Exception{cid(2): Failure},
		},
		"refused": {
			failed: []*yarnpb.ContainerFailure{refused(cid(2), InvalidContainer, "allocated by a previous RM")},
			known:  []ContainerID{cid(2)},
			done:   []ContainerID{cid(1)},
			errs:   map[ContainerID]rpc.Exception{cid(2): InvalidContainer},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{handle: func(r request) answer {
					if r.method == "startContainers" {
						return answer{message: &yarnpb.StartContainersResponse{Succeeded: []*yarnpb.ContainerId{cid(1).Proto()}, Failed: test.failed}}
					}
					resp := &yarnpb.GetContainerStatusesResponse{}
					for _, id := range test.known {
						resp.Statuses = append(resp.Statuses, &yarnpb.ContainerStatus{ContainerId: id.Proto()})
					}
					if len(test.known) == 0 {
						resp.Failed = []*yarnpb.ContainerFailure{refused(cid(2), Failure, "Container is not handled by this NodeManager")}
					}
					return answer{message: resp}
				}}
				n := pool(f, Limits{})
				n.Keep([]*yarnpb.NMToken{nmToken(1, "t")})
				out, err := n.Start(t.Context(), nodeAddr(1), nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.done, out.Done); diff != "" {
					t.Errorf("done (-want +got):\n%s", diff)
				}
				if len(out.Failed) != len(test.errs) {
					t.Errorf("failed: %v", out.Failed)
				}
				for id, want := range test.errs {
					if !errors.Is(out.Failed[id], want) {
						t.Errorf("%s: %v, want %v", id, out.Failed[id], want)
					}
				}
				n.Close()
				f.stop()
			})
		})
	}
}

func TestStopOfOneThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: func(request) answer {
			return answer{message: &yarnpb.StopContainersResponse{Failed: []*yarnpb.ContainerFailure{
				refused(cid(1), Failure, "Container container_1 is not handled by this NodeManager"),
				refused(cid(2), Failure, "container_1 is not yours"),
			}}}
		}}
		n := pool(f, Limits{})
		n.Keep([]*yarnpb.NMToken{nmToken(1, "t")})
		out, err := n.Stop(t.Context(), nodeAddr(1), []ContainerID{cid(1), cid(2)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]ContainerID{cid(1)}, out.Done); diff != "" || out.Failed[cid(2)] == nil || len(out.Failed) != 1 {
			t.Errorf("failed %v, done (-want +got):\n%s", out.Failed, diff)
		}
		n.Close()
		f.stop()
	})
}

// The newest token of a node is used from the next call on, while a call that is
// on its way ends in peace on the old connection.
func TestKeepANewerToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var users []string
		hold := make(chan struct{})
		f := &fake{handle: func(r request) answer {
			mu.Lock()
			users = append(users, r.user)
			mu.Unlock()
			if r.user == "old" {
				<-hold
			}
			return answer{message: &yarnpb.GetContainerStatusesResponse{}}
		}}
		n := pool(f, Limits{})
		if n.Has(nodeAddr(1)) {
			t.Error("a token out of nothing")
		}
		n.Keep([]*yarnpb.NMToken{nmToken(1, "old")})
		old := make(chan error)
		go func() {
			_, _, err := n.Statuses(t.Context(), nodeAddr(1), nil)
			old <- err
		}()
		synctest.Wait()
		n.Keep([]*yarnpb.NMToken{nmToken(1, "new")})
		if _, _, err := n.Statuses(t.Context(), nodeAddr(1), nil); err != nil {
			t.Fatal(err)
		}
		close(hold)
		if err := <-old; err != nil {
			t.Errorf("the call on its way: %v", err)
		}
		if diff := cmp.Diff([]string{"old", "new"}, users); diff != "" {
			t.Errorf("logged in as (-want +got):\n%s", diff)
		}
		synctest.Wait()
		if open := f.open(); open != 1 {
			t.Errorf("%d connections are open, want the new one", open)
		}
		n.Close()
		f.stop()
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, most = 40, 5
		var f *fake
		worst := 0
		var mu sync.Mutex
		f = &fake{handle: func(request) answer {
			pause(t.Context(), 100*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			worst = max(worst, f.open())
			return answer{message: &yarnpb.GetContainerStatusesResponse{}}
		}}
		n := pool(f, Limits{Open: most, Idle: time.Minute})
		var calls sync.WaitGroup
		for i := range int32(nodes) {
			n.Keep([]*yarnpb.NMToken{nmToken(i, "t")})
			calls.Go(func() {
				if _, _, err := n.Statuses(t.Context(), nodeAddr(i), nil); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		synctest.Wait()
		if worst > most || f.open() > most {
			t.Errorf("up to %d connections, and %d in the end, want at most %d", worst, f.open(), most)
		}
		pause(t.Context(), 3*time.Minute)
		synctest.Wait()
		if f.open() != 0 {
			t.Errorf("%d idle connections are still open", f.open())
		}
		n.Close()
		f.stop()
	})
}

func TestNodeCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: func(request) answer { return answer{ignoreIt: true} }}
		n := pool(f, Limits{Open: 1, Timeout: time.Minute})
		n.Keep([]*yarnpb.NMToken{nmToken(1, "t"), nmToken(2, "t")})
		if _, err := n.Stop(t.Context(), nodeAddr(9), nil); !errors.Is(err, ErrNoToken) {
			t.Errorf("without a token: %v", err)
		}
		began := time.Now()
		if _, err := n.Stop(t.Context(), nodeAddr(1), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 61*time.Second {
			t.Errorf("a silent node: %v after %v", err, time.Since(began))
		}
		f.set(true)
		began = time.Now()
		if _, err := n.Stop(t.Context(), nodeAddr(2), nil); err == nil || time.Since(began) > 61*time.Second {
			t.Errorf("a node that is away: %v after %v", err, time.Since(began))
		}
		n.Close()
		if _, err := n.Stop(t.Context(), nodeAddr(1), nil); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		f.stop()
	})
}

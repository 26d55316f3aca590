package yarn

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// scheduler is the ResourceManager's half of the master protocol, as far as the
// master's book-keeping can see it. Each allocate hands out one new container.
type scheduler struct {
	registered bool
	gone       bool
	last       int32
	cached     *yarnpb.AllocateResponse
	issued     []int64 // containers handed out
	asked      []int32 // priority of every ask that was taken
	forgotten  []int64 // handed out in the last answer before a restart

	fault  func(method string) string // what goes wrong with a call: "", "before", "after", "silent before", "silent after"
	silent func()                     // told when an answer will not come
}

func (s *scheduler) handle(c request) answer {
	fault := ""
	if s.fault != nil {
		fault = s.fault(c.method)
	}
	switch fault {
	case "before":
		return answer{hangUp: true}
	case "silent before":
		s.silent()
		return answer{ignoreIt: true}
	}
	a := s.do(c)
	switch fault {
	case "after":
		return answer{hangUp: true}
	case "silent after":
		s.silent()
		return answer{ignoreIt: true}
	}
	return a
}

func (s *scheduler) do(c request) answer {
	switch {
	case s.gone:
		return answer{exception: NoSuchAttempt, text: "appattempt_1_0001_000001 doesn't exist"}
	case c.method == "registerApplicationMaster":
		if s.registered {
			return answer{exception: InvalidMaster, text: "Application Master is already registered : application_1_0001"}
		}
		s.registered, s.last, s.cached = true, 0, nil
		return answer{message: &yarnpb.RegisterResponse{Queue: proto.String("root.default")}}
	case !s.registered:
		return answer{exception: NotRegistered, text: "AM is not registered for known application attempt"}
	case c.method == "finishApplicationMaster":
		s.gone = true
		return answer{message: &yarnpb.FinishResponse{IsUnregistered: proto.Bool(true)}}
	}
	var req yarnpb.AllocateRequest
	c.read(&req)
	switch req.GetResponseId() {
	case s.last - 1:
		return answer{message: s.cached}
	case s.last:
	default:
		return answer{exception: InvalidMaster, text: "Invalid responseId in AllocateRequest"}
	}
	s.last++
	id := int64(len(s.issued) + 1)
	s.issued = append(s.issued, id)
	for _, a := range req.GetAsk() {
		s.asked = append(s.asked, a.GetPriority().GetPriority())
	}
	s.cached = &yarnpb.AllocateResponse{
		ResponseId: proto.Int32(s.last), Allocated: []*yarnpb.Container{containerNumber(id)},
		Headroom: Resource{Memory: id, VCores: 1, More: map[string]int64{GPU: 1}}.Proto(),
	}
	return answer{message: s.cached}
}

func (s *scheduler) restart() {
	if s.cached != nil {
		s.forgotten = append(s.forgotten, s.issued[len(s.issued)-1])
	}
	s.registered, s.last, s.cached = false, 0, nil
}

// inBubble hides the deadline of a test, which may not be asked for in a bubble.
type inBubble struct{ testing.TB }

// Whatever answers are lost and however often calls end early or the
// ResourceManager restarts, each container that was handed out reaches the
// caller once, and each ask of a call that returned was taken once.
func TestMasterLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(inBubble{t}, func(t *rapid.T) {
			s := &scheduler{}
			f := &fake{handle: s.handle}
			defer f.stop()
			m := newMaster(rpc.Config{Addresses: []string{"rm1:1", "rm2:1"}, Dial: f.dial}, as("appattempt"))
			defer m.Close()
			if _, err := m.Register(t.Context(), "here", ""); err != nil {
				t.Fatal(err)
			}
			var got []int64
			var sure []int32
			for n := range rapid.IntRange(1, 12).Draw(t, "calls") {
				if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
					s.restart()
				}
				faults := rapid.SliceOfN(rapid.SampledFrom([]string{"", "before", "after", "silent before", "silent after"}), 0, 3).Draw(t, "faults")
				ctx, cancel := context.WithCancel(t.Context())
				s.silent = cancel
				s.fault = func(method string) string {
					if method != "allocate" || len(faults) == 0 {
						return ""
					}
					first := faults[0]
					faults = faults[1:]
					return first
				}
				resp, err := m.Allocate(ctx, &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{{Priority: PriorityOf(int32(n))}}})
				cancel()
				switch {
				case err == nil:
					sure = append(sure, int32(n))
					for _, c := range resp.GetAllocated() {
						got = append(got, c.GetId().GetId())
					}
					if h := ResourceOf(resp.GetHeadroom()); len(resp.GetHeadroom().GetMore()) != 1 || h.Memory != int64(len(s.issued)) {
						t.Fatalf("headroom %v is not the newest, or told twice", resp.GetHeadroom())
					}
				case errors.Is(err, ErrResync):
					s.fault = nil
					if _, err := m.Register(t.Context(), "here", ""); err != nil {
						t.Fatal(err)
					}
				case !errors.Is(err, context.Canceled):
					t.Fatalf("call %d: %v", n, err)
				}
			}
			s.fault = nil
			resp, err := m.Allocate(t.Context(), &yarnpb.AllocateRequest{})
			if errors.Is(err, ErrResync) {
				if _, err := m.Register(t.Context(), "here", ""); err != nil {
					t.Fatal(err)
				}
				resp, err = m.Allocate(t.Context(), &yarnpb.AllocateRequest{})
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range resp.GetAllocated() {
				got = append(got, c.GetId().GetId())
			}
			// Only what a restart made the ResourceManager itself forget may be missing.
			want := slices.DeleteFunc(slices.Clone(s.issued), func(id int64) bool {
				return slices.Contains(s.forgotten, id) && !slices.Contains(got, id)
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("containers (-want +got):\n%s", diff)
			}
			for _, n := range sure {
				if taken := len(slices.DeleteFunc(slices.Clone(s.asked), func(p int32) bool { return p != n })); taken != 1 {
					t.Fatalf("ask %d was taken %d times: %v", n, taken, s.asked)
				}
			}
		})
	})
}

// bubble runs a master against a scheduler on a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, s *scheduler, f *fake, m *Master)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scheduler{}
		f := &fake{handle: s.handle}
		m := f.master(t)
		test(t, s, f, m)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		f.stop()
	})
}

// once gives a fault to the first call of a method.
func once(method, fault string) func(string) string {
	return func(m string) string {
		if m != method || fault == "" {
			return ""
		}
		defer func() { fault = "" }()
		return fault
	}
}

func TestRegisterTwice(t *testing.T) {
	bubble(t, func(t *testing.T, _ *scheduler, f *fake, m *Master) {
		if reg, err := m.Register(t.Context(), "here", ""); err != nil || reg.AnswerLost || reg.GetQueue() != "root.default" {
			t.Fatal(reg, err)
		}
		other := f.master(t)
		defer other.Close()
		if _, err := other.Register(t.Context(), "there", ""); !errors.Is(err, InvalidMaster) {
			t.Errorf("a second master was let in: %v", err)
		}
	})
}

func TestRegisterAfterALostAnswer(t *testing.T) {
	for _, fault := range []string{"after", "silent after"} {
		t.Run(fault, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *scheduler, _ *fake, m *Master) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.fault, s.silent = once("registerApplicationMaster", fault), cancel
				reg, err := m.Register(ctx, "here", "")
				if fault == "silent after" {
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("the call went on: %v", err)
					}
					reg, err = m.Register(t.Context(), "here", "")
				}
				if err != nil || !reg.AnswerLost {
					t.Fatalf("%+v, %v: want a registration whose answer was lost", reg, err)
				}
				if _, err := m.Allocate(t.Context(), &yarnpb.AllocateRequest{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestFinish(t *testing.T) {
	tests := map[string]struct {
		fault   string
		restart bool
		gone    bool
		want    error
	}{
		"plain":                           {},
		"its answer lost":                 {fault: "after"},
		"never arrived":                   {fault: "before"},
		"restart before":                  {restart: true},
		"restart before, its answer lost": {restart: true, fault: "after"},
		"given up by the ResourceManager": {gone: true, want: ErrGone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *scheduler, _ *fake, m *Master) {
				if _, err := m.Register(t.Context(), "here", ""); err != nil {
					t.Fatal(err)
				}
				if test.restart {
					s.restart()
				}
				s.gone, s.fault = test.gone, once("finishApplicationMaster", test.fault)
				if test.restart && test.fault != "" { // the first finish is the one that is refused
					first := true
					s.fault = func(method string) string {
						if method != "finishApplicationMaster" {
							return ""
						}
						if first {
							first = false
							return ""
						}
						f := test.fault
						test.fault = ""
						return f
					}
				}
				err := m.Finish(t.Context(), yarnpb.FinalStatus_APP_SUCCEEDED, "", "")
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if !s.gone {
					t.Error("the ResourceManager does not know of the end")
				}
			})
		})
	}
}

// Finish comes back only when the ResourceManager says that it is stored.
func TestFinishWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		f := &fake{handle: func(request) answer {
			calls++
			return answer{message: &yarnpb.FinishResponse{IsUnregistered: proto.Bool(calls == 4)}}
		}}
		m := f.master(t)
		if err := m.Finish(t.Context(), yarnpb.FinalStatus_APP_FAILED, "out of luck", ""); err != nil || calls != 4 {
			t.Errorf("%v after %d calls, want nil after 4", err, calls)
		}
		m.Close()
		f.stop()
	})
}

func TestMasterOutlivesAResourceManager(t *testing.T) {
	bubble(t, func(t *testing.T, _ *scheduler, f *fake, m *Master) {
		if _, err := m.Register(t.Context(), "here", ""); err != nil {
			t.Fatal(err)
		}
		f.set(true)
		back := time.AfterFunc(10*time.Minute, func() { f.set(false) })
		defer back.Stop()
		began := time.Now()
		if _, err := m.Allocate(t.Context(), &yarnpb.AllocateRequest{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d < 10*time.Minute || d > 10*time.Minute+5*time.Second {
			t.Errorf("an allocate over an outage of 10 min took %v", d)
		}
	})
}

func TestOldCommands(t *testing.T) {
	for command, want := range map[yarnpb.AMCommand]error{yarnpb.AMCommand_AM_RESYNC: ErrResync, yarnpb.AMCommand_AM_SHUTDOWN: ErrGone} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{handle: func(request) answer {
				return answer{message: &yarnpb.AllocateResponse{Command: command.Enum()}}
			}}
			m := f.master(t)
			if _, err := m.Allocate(t.Context(), &yarnpb.AllocateRequest{}); !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", command, err, want)
			}
			m.Close()
			f.stop()
		})
	}
}

// A ResourceManager that has given an attempt up knows its token no more, and
// refuses a new connection for that. Any other trouble with a token is not the end.
func TestAMasterWhoseTokenIsForgottenIsGone(t *testing.T) {
	for text, want := range map[string]bool{
		"appattempt_1_0001_000001 not found in AMRMTokenSecretManager.":        true,
		"Invalid AMRMToken from appattempt_1_0001_000001":                      false,
		"Given AMRMToken for application : appattempt_1_0001_000001 seems bad": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{handle: func(request) answer { return answer{exception: InvalidToken, text: text} }}
			m := f.master(t)
			_, allocate := m.Allocate(t.Context(), &yarnpb.AllocateRequest{})
			_, register := m.Register(t.Context(), "here", "")
			for _, err := range []error{allocate, register} {
				if errors.Is(err, ErrGone) != want || !errors.Is(err, InvalidToken) {
					t.Errorf("%s: got %v, gone: want %v", text, err, want)
				}
			}
			m.Close()
			f.stop()
		})
	}
}

// A token that comes with an answer is what the very next connection uses, and
// that is opened with the next call.
func TestRolledToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: func(request) answer {
			return answer{message: &yarnpb.AllocateResponse{AmRmToken: &ipcpb.Token{
				Identifier: []byte("second"), Password: []byte("secret"), Kind: proto.String("YARN_AM_RM_TOKEN"), Service: proto.String(""),
			}}}
		}}
		m := f.master(t)
		if _, err := m.Allocate(t.Context(), &yarnpb.AllocateRequest{}); err != nil {
			t.Fatal(err)
		}
		auth, err := m.login(t.Context())
		if err != nil || auth.Token == nil || string(auth.Token.Identifier) != "second" {
			t.Fatalf("logs in with %v, %v", auth.Token, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Allocate(ctx, &yarnpb.AllocateRequest{}); err == nil || f.dials < 2 {
			t.Errorf("the old connection is still used: %v after %d dials", err, f.dials) // the fake knows no tokens
		}
		m.Close()
		f.stop()
	})
}

package yarn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

const masterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// Master is an application master's side of the scheduler. Register comes first,
// then Allocate about once a second (also with nothing to ask: it is the sign of
// life), and Finish at the end. Calls run one after another.
//
// Every call goes on, over reconnects and a failover, until a ResourceManager
// has answered or the context ends; a call that ended so is made good by the next
// one, so nothing that the ResourceManager handed out is lost. Two answers are
// for the caller to act on, from any call: ErrResync and ErrGone.
type Master struct {
	auth Auth
	turn chan struct{} // one call at a time; its holder may touch what follows

	client *rpc.Client
	rolled atomic.Pointer[token.Token] // what the ResourceManager gave in place of the first token

	host, url  string
	registered bool
	maybe      bool // a register was sent whose answer is not known

	response int32                    // id of the last answer
	lost     *yarnpb.AllocateRequest  // sent without an answer; the next call repeats it
	kept     *yarnpb.AllocateResponse // answered, but not yet handed to the caller
}

// NewMaster takes the scheduler's addresses out of the configuration; nothing is
// called yet. The auth gives the AMRM token of the container's token file; a
// newer one that the ResourceManager sends replaces it.
func NewMaster(c *conf.Conf, auth Auth) (*Master, error) {
	servers, err := c.ResourceManagers(conf.RMScheduler)
	if err != nil {
		return nil, err
	}
	least, err := Protection(c)
	if err != nil {
		return nil, err
	}
	return newMaster(rpc.Config{Addresses: conf.Addresses(servers), Least: least}, auth), nil
}

func newMaster(cfg rpc.Config, auth Auth) *Master {
	m := &Master{auth: auth, turn: make(chan struct{}, 1)}
	cfg.Protocol, cfg.Auth = masterProtocol, m.login
	cfg.Retry = rpc.Retry{For: -1, Most: 2 * time.Second}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second // far below the time after which a master counts as dead
	}
	m.client = rpc.New(cfg)
	return m
}

// Close ends the connection; the ResourceManager takes no notice.
func (m *Master) Close() error { return m.client.Close() }

// Registration is the answer to Register.
type Registration struct {
	*yarnpb.RegisterResponse
	// AnswerLost: the ResourceManager has this master, but its answer went astray,
	// and it gives it once only. Containers of earlier attempts and their NodeManager
	// tokens are then unknown; those come again with the next attempt.
	AnswerLost bool
}

// Register tells the ResourceManager that this master is there. The URL is
// where the ResourceManager's proxy finds the master's page; it may be empty.
func (m *Master) Register(ctx context.Context, host, url string) (*Registration, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	return m.register(ctx, host, url)
}

func (m *Master) register(ctx context.Context, host, url string) (*Registration, error) {
	m.host, m.url = host, url
	m.response, m.lost, m.registered = 0, nil, false
	req := &yarnpb.RegisterRequest{Host: &host, RpcPort: proto.Int32(-1), TrackingUrl: &url}
	resp := &yarnpb.RegisterResponse{}
	sent, err := m.insist(ctx, "registerApplicationMaster", req, resp)
	if err != nil && (m.maybe || sent) && isAgain(err) {
		m.registered, m.maybe = true, false
		return &Registration{RegisterResponse: &yarnpb.RegisterResponse{}, AnswerLost: true}, nil
	}
	if err != nil {
		m.maybe = m.maybe || sent
		return nil, err
	}
	m.registered, m.maybe = true, false
	return &Registration{RegisterResponse: resp}, nil
}

// isAgain tells a second register from a master that is not welcome: both have
// the same class.
func isAgain(err error) bool {
	return errors.Is(err, InvalidMaster) && strings.Contains(message(err), "already registered")
}

// Finish ends the application with a verdict and returns once the
// ResourceManager has it in its store; only then may the process end. If the
// ResourceManager restarts meanwhile, the master registers again by itself.
func (m *Master) Finish(ctx context.Context, status yarnpb.FinalStatus, diagnostics, url string) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	req := &yarnpb.FinishRequest{Diagnostics: &diagnostics, TrackingUrl: &url, FinalStatus: &status}
	wait := patience{next: 50 * time.Millisecond, most: time.Second}
	told := false
	for {
		resp := &yarnpb.FinishResponse{}
		sent, err := m.insist(ctx, "finishApplicationMaster", req, resp)
		switch {
		case err == nil && resp.GetIsUnregistered():
			return nil
		case err == nil:
			told = true
		case (told || sent) && (errors.Is(err, ErrGone) || errors.Is(err, InvalidToken)):
			return nil // it took an earlier call, whose answer was lost, and forgot us
		case errors.Is(err, ErrResync):
			told = false
			if _, err := m.register(ctx, m.host, m.url); err != nil {
				return fmt.Errorf("finish: %w", err)
			}
		default:
			return err
		}
		if err := wait.pause(ctx); err != nil {
			return fmt.Errorf("finish: the ResourceManager has not stored it yet: %w", err)
		}
	}
}

// insist calls until somebody answers. Sent tells that a try of this call may
// have been carried out although its answer never came.
func (m *Master) insist(ctx context.Context, method string, req, resp proto.Message) (sent bool, err error) {
	wait := patience{next: 100 * time.Millisecond, most: 2 * time.Second}
	for {
		err := m.client.Once(ctx, method, req, resp)
		if err == nil || answered(err) {
			return sent, gone(err)
		}
		if !errors.Is(err, rpc.ErrUnanswered) {
			return sent || ctx.Err() != nil, err // the context may have ended after it was sent
		}
		sent = true
		if perr := wait.pause(ctx); perr != nil {
			return sent, err
		}
	}
}

// login gives the newest AMRM token.
func (m *Master) login(ctx context.Context) (rpc.Auth, error) {
	if t := m.rolled.Load(); t != nil {
		return rpc.Auth{Token: t}, nil
	}
	return m.auth(ctx)
}

// roll makes the next call connect anew, with the token that came with an
// answer: the old key dies a while after, and with it the chance to reconnect.
func (m *Master) roll(t *token.Token) {
	if t != nil {
		m.rolled.Store(t)
		m.client.Reset()
	}
}

func (m *Master) enter(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Master) leave() { <-m.turn }

package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// Opener makes the gang of a job inside its coordinator, which is the master of
// a YARN application.
type Opener struct {
	AM   *AM
	Conf *conf.Conf
	// Credentials are those of the coordinator's container; the token for the
	// scheduler must be among them.
	Credentials *token.Credentials
	// Client is how the resource manager is called as clients do; nil for the
	// submission's token, or a name that is believed.
	Client hadoop.Auth
	// Renewal keeps the HDFS tokens that containers get alive; nil where there are none.
	Renewal *Renewal
	// FS holds the job's directory and the tickets of all gangs.
	FS storage.FS
	// Host is the coordinator's node and Node its NodeManager's address, both as
	// that names itself; URL is where the resource manager's proxy finds the
	// coordinator's page. All may be empty.
	Host, Node, URL string
	Log             *slog.Logger
	// Container is what starts in the slot of a task of a role; nil for an
	// executor with its start context.
	Container func(role string, start []byte) (*yarnpb.ContainerLaunchContext, error)
}

var _ backend.Opener = Opener{}

// Open registers with the resource manager and looks what became of the slots
// that the journal knows. The term does not matter here: the resource manager
// has one coordinator at a time, and tells an older one so.
func (o Opener) Open(ctx context.Context, p *plan.Plan, _ int64, known []backend.Slot) (backend.Gang, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	settings, findings := Decode(p)
	if len(findings) > 0 {
		return nil, fmt.Errorf("%s: %s", findings[0].Path, findings[0].Problem)
	}
	amrm := o.Credentials.ByKind(token.KindAMRM)
	if amrm == nil {
		return nil, fmt.Errorf("the container's credentials hold no %s: is this the coordinator's container?", token.KindAMRM)
	}
	if o.Container == nil {
		o.Container = o.executor(p, settings)
	}
	m := &master{Opener: o, plan: p, settings: settings, feed: backend.NewFeed(), news: make(chan struct{}, 1),
		empty: make(chan struct{}), lost: make(chan struct{}), starts: map[string]backend.Start{}, gave: map[string]*yarnpb.Container{}, busy: map[string]bool{}}
	least, err := hadoop.Protection(o.Conf)
	if err == nil {
		m.scheduler, err = hadoop.NewMaster(o.Conf, func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: amrm}, nil })
	}
	if err == nil {
		m.scout, err = newScout(o, p, settings)
	}
	if err != nil {
		m.feed.Close()
		return nil, err
	}
	m.nodes = hadoop.NewNodes(hadoop.Limits{Timeout: nodeLimit, Least: least})
	m.life, m.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := m.open(ctx, known); err != nil {
		m.shut()
		if errors.Is(err, hadoop.ErrGone) {
			err = fmt.Errorf("%w: %w", err, backend.ErrSuperseded)
		}
		return nil, err
	}
	m.owned.Go(m.loop)
	m.owned.Go(func() { m.Renewal.run(m.life, func(w backend.Warning) { m.feed.Tell(backend.Event{Warning: &w}) }) })
	return m, nil
}

// nodeLimit bounds one call of a node. What is not answered is asked again.
const nodeLimit = 20 * time.Second

// open registers, and looks at the other gangs meanwhile: what is asked for waits
// for both.
func (m *master) open(ctx context.Context, known []backend.Slot) error {
	m.book = ledger.New(m.config(len(known) > 0), known, time.Now())
	m.looking = true
	m.owned.Go(func() {
		v := m.scout.look(m.life)
		_ = m.put(func(time.Time) { m.looking = false; m.see(v) })
	})
	r, err := m.scheduler.Register(ctx, m.Host, m.URL)
	if err != nil {
		return err
	}
	m.registered(r, time.Now())
	return nil
}

// registered notes what an answer to register says.
func (m *master) registered(r *hadoop.Registration, now time.Time) {
	m.nodes.Keep(r.GetNmTokensFromPreviousAttempts())
	m.most = hadoop.ResourceOf(r.GetMaximum())
	m.book.Registered(m.containers(r.GetContainersFromPreviousAttempts()), now)
	if r.AnswerLost {
		m.Log.Warn("the answer to the registration was lost: containers of an earlier coordinator are not known")
	}
}

// executor is what starts in a task's slot.
func (o Opener) executor(p *plan.Plan, s *Settings) func(string, []byte) (*yarnpb.ContainerLaunchContext, error) {
	filesystem := cmp.Or(o.AM.Filesystem, o.Conf.String("fs.defaultFS", ""))
	return func(role string, start []byte) (*yarnpb.ContainerLaunchContext, error) {
		return ExecutorContainer(o.AM, s, p, role, start, o.Renewal.tokens()).Proto(filesystem)
	}
}

// chance draws the number by which gangs that see nothing of each other part.
func chance() float64 { return rand.Float64() }

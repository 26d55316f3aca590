package yarn

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// work does what is to be done on nodes: all of a node with one call, all nodes
// at the same time.
func (m *master) work(now time.Time) {
	w := m.book.Work(now)
	for address, ids := range byNode(w.Start) {
		m.start(address, ids)
	}
	for address, ids := range byNode(w.Stop) {
		m.owned.Go(func() {
			if _, err := m.nodes.Stop(m.life, address, ids); err != nil && m.life.Err() == nil {
				m.Log.Warn("a node does not end containers; telling it again", "node", address, "error", err)
			}
		})
	}
	for address, ids := range byNode(w.Status) {
		if !m.busy[address] {
			m.busy[address] = true
			m.owned.Go(func() { m.status(address, ids) })
		}
	}
}

func byNode(tasks []ledger.Task) map[string][]hadoop.ContainerID {
	out := map[string][]hadoop.ContainerID{}
	for _, t := range tasks {
		if id, err := hadoop.ParseContainer(t.ID); err == nil { // slots are named by us
			out[t.Address] = append(out[t.Address], id)
		}
	}
	return out
}

// start tells one node to start containers.
func (m *master) start(address string, ids []hadoop.ContainerID) {
	var reqs []*yarnpb.StartContainerRequest
	var asked []string
	for _, id := range ids {
		slot := id.String()
		c, err := m.launchContext(slot)
		if err != nil {
			_ = m.put(func(now time.Time) { m.book.Started(slot, err, true, now) })
			continue
		}
		reqs = append(reqs, &yarnpb.StartContainerRequest{Context: c, ContainerToken: m.gave[slot].GetContainerToken()})
		asked = append(asked, slot)
	}
	if len(reqs) == 0 {
		return
	}
	m.owned.Go(func() {
		out, err := m.nodes.Start(m.life, address, reqs)
		_ = m.put(func(now time.Time) { m.startedOn(asked, out, err, now) })
	})
}

func (m *master) launchContext(slot string) (*yarnpb.ContainerLaunchContext, error) {
	st, ok := m.starts[slot]
	if !ok || m.gave[slot] == nil {
		return nil, fmt.Errorf("%s: nothing is known to start in it", slot)
	}
	return m.Container(st.Slot.Task.Role, st.Context)
}

// startedOn notes a node's answer. A node that is not ready yet, or that did not
// answer, is asked again.
func (m *master) startedOn(asked []string, out hadoop.Outcome, err error, now time.Time) {
	failed := map[string]error{}
	for id, err := range out.Failed {
		failed[id.String()] = err
	}
	for _, slot := range asked {
		switch one := failed[slot]; {
		case one != nil:
			m.book.Started(slot, errors.New(cause(one)), !errors.Is(one, hadoop.NodeNotReady), now)
		case err != nil:
			m.book.Started(slot, err, false, now)
		default:
			m.book.Started(slot, nil, true, now)
		}
	}
}

// status asks a node how containers are.
func (m *master) status(address string, ids []hadoop.ContainerID) {
	statuses, unknown, err := m.nodes.Statuses(m.life, address, ids)
	_ = m.put(func(now time.Time) {
		delete(m.busy, address)
		if err != nil {
			m.Log.Debug("a node does not tell how containers are", "node", address, "error", err)
			return
		}
		for id, err := range unknown {
			m.Log.Debug("a node does not know a container", "node", address, "container", id, "error", err)
		}
		for _, s := range statuses {
			m.book.Seen(statusOf(s), now)
		}
	})
}

// statusOf reads a container's status as a node or the scheduler tells it.
func statusOf(s *yarnpb.ContainerStatus) ledger.Status {
	return ledger.Status{
		ID:      hadoop.ContainerOf(s.GetContainerId()).String(),
		Running: s.GetSubState() == yarnpb.ContainerSubState_CSS_RUNNING,
		Ended:   s.GetState() == yarnpb.ContainerState_C_COMPLETE && s.GetSubState() != yarnpb.ContainerSubState_CSS_COMPLETING,
		Exit:    int(s.GetExitStatus()), Text: s.GetDiagnostics(),
	}
}

// cause is what a server said, without the classes around it.
func cause(err error) string {
	var r *rpc.RemoteError
	if errors.As(err, &r) && r.Message != "" {
		return r.Message
	}
	return err.Error()
}

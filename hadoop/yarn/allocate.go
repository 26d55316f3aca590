package yarn

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/token"
)

// Allocate is the heartbeat: asks, releases and progress go in; containers,
// completions, tokens and warnings come out. Asks are absolute numbers per
// (priority, allocation request id, resource name) and stay until they change.
// The response id is set here.
//
// When an earlier call ended without an answer, its request goes out once more
// first (the ResourceManager repeats that answer), and both answers come as one.
func (m *Master) Allocate(ctx context.Context, req *yarnpb.AllocateRequest) (*yarnpb.AllocateResponse, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	if m.lost != nil {
		if err := m.exchange(ctx, m.lost); err != nil {
			return nil, err
		}
	}
	if err := m.exchange(ctx, proto.CloneOf(req)); err != nil {
		return nil, err
	}
	resp := m.kept
	m.kept = nil
	return resp, nil
}

// exchange sends one request and keeps the answer; without an answer it keeps
// the request.
func (m *Master) exchange(ctx context.Context, req *yarnpb.AllocateRequest) error {
	req.ResponseId = &m.response
	resp := &yarnpb.AllocateResponse{}
	m.lost = req
	if err := m.client.Call(ctx, "allocate", req, resp); err != nil {
		if answered(err) {
			m.lost = nil // refused: nothing of it was done
		}
		return gone(err)
	}
	m.lost, m.response = nil, resp.GetResponseId()
	m.roll(token.FromProto(resp.GetAmRmToken()))
	switch resp.GetCommand() { // servers before 2.6 say by command what newer ones throw
	case yarnpb.AMCommand_AM_RESYNC:
		return fmt.Errorf("allocate: %w", ErrResync)
	case yarnpb.AMCommand_AM_SHUTDOWN:
		return fmt.Errorf("allocate: %w", ErrGone)
	}
	m.kept = join(m.kept, resp)
	return nil
}

// join makes one answer of two: lists and warnings one after the other, of the
// rest the newer.
func join(older, newer *yarnpb.AllocateResponse) *yarnpb.AllocateResponse {
	if older == nil {
		return newer
	}
	if newer.Headroom != nil {
		older.Headroom = nil // a merge would list its parts twice
	}
	if newer.EnhancedHeadroom != nil {
		older.EnhancedHeadroom = nil
	}
	proto.Merge(older, newer)
	return older
}

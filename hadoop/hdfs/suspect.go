package hdfs

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// probing is how long a DataNode may take to answer whether it lives.
const probing = 3 * time.Second

// suspects finds the nodes of a pipeline that are at fault for silence, for
// which the one at its head is not to blame more than the others: those that do
// not answer at all, or else the given one.
func (c *Client) suspects(ctx context.Context, lb *hdfspb.LocatedBlock, first *hdfspb.DatanodeInfo, err error) []*hdfspb.DatanodeInfo {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return []*hdfspb.DatanodeInfo{first}
	}
	ctx, stop := context.WithTimeout(ctx, probing)
	defer stop()
	dead := make([]bool, len(lb.GetLocs()))
	var wg sync.WaitGroup
	for i, n := range lb.GetLocs() {
		wg.Go(func() {
			_, err := c.visibleAt(ctx, n.GetId(), lb)
			_, answered := errors.AsType[*rpc.RemoteError](err) // whatever it says
			dead[i] = err != nil && !answered
		})
	}
	wg.Wait()
	var out []*hdfspb.DatanodeInfo
	for i, n := range lb.GetLocs() {
		if dead[i] {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return []*hdfspb.DatanodeInfo{first}
	}
	c.away.add(out...)
	return out
}

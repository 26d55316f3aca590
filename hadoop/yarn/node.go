package yarn

import (
	"net"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// NodeAddr is a NodeManager's address, "host:port": what Nodes calls it by.
func NodeAddr(n *yarnpb.NodeId) string {
	return net.JoinHostPort(n.GetHost(), strconv.Itoa(int(n.GetPort())))
}

// Anything, as a resource name, is any node of the cluster.
const Anything = "*"

// PriorityOf is the wire's form of a priority.
func PriorityOf(p int32) *yarnpb.Priority { return &yarnpb.Priority{Priority: proto.Int32(p)} }

// Guaranteed asks for containers that no NodeManager queues or kills for others.
func Guaranteed() *yarnpb.ExecutionTypeRequest {
	return &yarnpb.ExecutionTypeRequest{Type: yarnpb.ExecutionType_GUARANTEED.Enum(), Enforce: proto.Bool(true)}
}

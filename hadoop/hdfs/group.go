package hdfs

import (
	"context"
	"fmt"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// mappingProtocol tells who is in which group; a NameNode speaks it on its port.
const mappingProtocol = "org.apache.hadoop.tools.GetUserMappingsProtocol"

// Groups are those that the NameNode takes a user to be in: what the groups of
// files and ACLs mean. One that it does not know is in none.
func (c *Client) Groups(ctx context.Context, user string) ([]string, error) {
	var r hdfspb.GetGroupsForUserResponse
	if err := c.mapping.Call(ctx, "getGroupsForUser", &hdfspb.GetGroupsForUserRequest{User: &user}, &r); err != nil {
		return nil, fmt.Errorf("user %s: groups are not known: %w", user, err)
	}
	return r.GetGroups(), nil
}

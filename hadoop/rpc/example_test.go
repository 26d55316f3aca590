package rpc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// A delegation token is asked for at whichever ResourceManager is active.
func Example() {
	c, err := conf.Load("/etc/hadoop/conf")
	if err != nil {
		fmt.Println(err)
		return
	}
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := rpc.New(rpc.Config{
		Addresses: conf.Addresses(servers),
		Protocol:  "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
		Auth:      func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: "alice"}, nil },
	})
	defer client.Close()
	renewer := "rm/host@REALM"
	var out ipcpb.GetDelegationTokenResponse
	err = client.Call(context.Background(), "getDelegationToken", &ipcpb.GetDelegationTokenRequest{Renewer: &renewer}, &out)
	if errors.Is(err, rpc.AccessControl) {
		fmt.Println("only with Kerberos")
	}
}

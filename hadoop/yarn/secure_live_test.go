//go:build hadoop

package yarn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// loginOf logs somebody in to the cluster with Kerberos that HADOOP_CONF_DIR
// names; the keytabs lie beside the configuration.
func loginOf(t *testing.T, user, as string) *login.Login {
	t.Helper()
	lab := filepath.Join(filepath.Dir(os.Getenv("HADOOP_CONF_DIR")), "kdc")
	l, err := login.New(liveConf(t), login.Options{User: as, Keytab: filepath.Join(lab, "keytabs", user+".keytab"), Getenv: func(key string) string {
		if key == "KRB5_CONFIG" {
			return filepath.Join(lab, "krb5.conf")
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func secureRM(t *testing.T, l *login.Login) *RM {
	t.Helper()
	r, err := NewRM(liveConf(t), l.RM())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A job that a proxy submits for alice: its master and a NodeManager are called
// by tokens at the cluster's protection; nobody else may kill it, she may.
//
// The ResourceManager gives the token of a master that it does not start itself
// to somebody whose name is the job's user; by Kerberos her name has a realm.
func TestSecureJob(t *testing.T) {
	ctx := liveContext(t)
	r := secureRM(t, loginOf(t, "gateway", "alice"))
	id, tok := unmanaged(ctx, t, r, nil)
	level, err := Protection(liveConf(t))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMaster(liveConf(t), func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Register(ctx, "localhost", ""); err != nil {
		t.Fatal(err)
	}
	n := NewNodes(Limits{Least: level})
	defer n.Close()
	got := gather(ctx, t, m, n, 1, &yarnpb.AllocateRequest{Ask: []*yarnpb.ResourceRequest{ask(1, 1, Resource{Memory: 64, VCores: 1})}})
	addr := NodeAddr(got[0].GetNodeId())
	start := shell(got[0], "sleep 600")
	// A secure NodeManager wants a container's credentials, be there none.
	start.Context.Tokens = (&token.Credentials{}).Bytes()
	if _, err := n.Start(ctx, addr, []*yarnpb.StartContainerRequest{start}); err != nil {
		t.Fatal(err)
	}
	others := []string{"bob", "dave"}
	if everybodyAdministers(t) {
		t.Log("everybody may administer the root queue here, and so kill what is in it")
		others = nil
	}
	for _, who := range others {
		if err := secureRM(t, loginOf(t, who, "")).Kill(ctx, id, "for a test"); err == nil || !strings.Contains(err.Error(), "User "+who+" cannot perform operation MODIFY_APP") {
			t.Errorf("%s kills it: %v", who, err)
		}
	}
	if rep, err := r.Report(ctx, id); err != nil || rep.GetState() != yarnpb.AppState_RUNNING || rep.GetUser() != "alice" {
		t.Errorf("afterwards: %v, %v", rep, err)
	}
	if err := secureRM(t, loginOf(t, "alice", "")).Kill(ctx, id, "by its owner"); err != nil {
		t.Error(err)
	}
	within(ctx, t, "its end", func() bool { // a job without a master of the cluster's counts as killed at once
		rep, err := r.Report(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return rep.GetState() == yarnpb.AppState_KILLED
	})
}

// A delegation token does what a ticket does but fetch another one, until it is
// cancelled.
func TestSecureDelegationToken(t *testing.T) {
	ctx := liveContext(t)
	l := loginOf(t, "alice", "")
	r := secureRM(t, l)
	tok, err := r.DelegationToken(ctx, "rm/localhost@LAB.TEST")
	if err != nil {
		t.Fatal(err)
	}
	var id yarnpb.RMDelegationTokenIdentifier
	if err := proto.Unmarshal(tok.Identifier, &id); err == nil && id.GetOwner() != "" && !strings.HasPrefix(id.GetOwner(), "alice") {
		t.Errorf("the token is %s's", id.GetOwner())
	}
	bearer, err := NewRM(liveConf(t), func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: tok}, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer bearer.Close()
	if _, _, err := bearer.NewApplication(ctx); err != nil {
		t.Error(err)
	}
	if _, err := bearer.DelegationToken(ctx, "rm/localhost@LAB.TEST"); err == nil || !strings.Contains(err.Error(), "can be issued only with kerberos authentication") {
		t.Errorf("a token by a token: %v", err)
	}
	if err := r.CancelDelegationToken(ctx, tok); err != nil {
		t.Fatal(err)
	}
	bearer.client.Reset()
	if _, _, err := bearer.NewApplication(ctx); !errors.Is(err, rpc.InvalidToken) {
		t.Errorf("a cancelled token: %v", err)
	}
}

// everybodyAdministers reads the CapacityScheduler's file: its own default lets
// all in.
func everybodyAdministers(t *testing.T) bool {
	t.Helper()
	const file = "capacity-scheduler.xml"
	f, err := os.Open(filepath.Join(os.Getenv("HADOOP_CONF_DIR"), file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := conf.Read(file, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, set := c.Get("yarn.scheduler.capacity.root.acl_administer_queue")
	return !set || v == "*"
}

//go:build hadoop

package yarn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
	"github.com/muster-project/muster/test/train"
)

// newPerson is a user's world on a cluster with Kerberos. What proves who the
// user is, is of this world alone: several may be in one test.
func newPerson(t *testing.T, user string, env ...string) *world {
	t.Helper()
	w := newWorldOf(t, user)
	c, err := lab.Open(w.conf)
	if err != nil {
		t.Fatal(err)
	}
	config, _ := c.Kerberos()
	if config == "" {
		t.Fatal("HADOOP_CONF_DIR: this cluster has no Kerberos: TestSecure… run on modes secure and integrity")
	}
	w.env = append([]string{"KRB5_CONFIG=" + config, "KRB5CCNAME=" + filepath.Join(w.home, "cc")}, env...)
	return w
}

// kinit gives a world a ticket of somebody; lifetime 0 is a day.
func (w *world) kinit(principal string, lifetime time.Duration) {
	w.t.Helper()
	c, err := lab.Open(w.conf)
	if err == nil {
		err = c.Ticket(w.t.Context(), principal, filepath.Join(w.home, "cc"), lifetime)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// keys are the flags by which a world logs in with a keytab.
func (w *world) keys() []string {
	w.t.Helper()
	c, err := lab.Open(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	_, keytabs := c.Kerberos()
	return []string{"--keytab", filepath.Join(keytabs, w.user+".keytab"), "--principal", w.user}
}

// activeNameNode is the address of the NameNode that serves calls.
func (w *world) activeNameNode() string {
	w.t.Helper()
	c, err := lab.Open(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	name, err := c.Active(w.t.Context(), "nn")
	if err != nil {
		w.t.Fatal(err)
	}
	site, err := conf.Load(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	return site.String("dfs.namenode.rpc-address.lab."+name, "")
}

// A real training at privacy, by a ticket cache and nothing else.
func TestSecureTrainingWithATicketCache(t *testing.T) {
	t.Parallel()
	w := newPerson(t, "alice")
	w.kinit("alice", 0)
	id := w.succeed("pytorch-ddp", *torch)
	train.SameWeights(t, strings.ReplaceAll(w.logs(id, "--no-prefix"), "rank ", ""), 4)
	if app := w.app(id); app.User != "alice" || app.Final != "SUCCEEDED" {
		t.Errorf("the ResourceManager says %+v", app)
	}
	if out := w.must("explain", id); !strings.Contains(out, "does not wait: succeeded") {
		t.Errorf("explain:\n%s", out)
	}
}

// A job that was submitted with a keytab is watched and steered with it, on this
// machine without its being named again. Who has only a ticket of their own neither
// acts for its owner, nor on it. Its tasks have a token of each file system that it
// names, here of the NameNode that is active, by its address.
func TestSecureAJobIsSteeredByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newPerson(t, "alice")
	id := w.submit(append(w.keys(), "-N", "2", "--memory", "256MiB", "--workdir", "none", "--native", "filesystems=[hdfs://"+w.activeNameNode()+"]", "--", "bash", "-c",
		`grep -ao 'ha-hdfs:[a-z]*\|127.0.0.1:[0-9]*' "$HADOOP_TOKEN_FILE_LOCATION" | sort -u; echo "hello from $MUSTER_TASK"; while :; do sleep 0.2; done`)...)
	w.until(id, "running", running)
	w.eventually("both tasks have printed", func() bool { return strings.Count(w.logs(id), "hello from task/") == 2 })
	_, port, _ := strings.Cut(w.activeNameNode(), ":")
	if out := w.logs(id, "--no-prefix"); strings.Count(out, "ha-hdfs:lab\n") != 2 || strings.Count(out, "127.0.0.1:"+port+"\n") != 2 {
		t.Errorf("tokens of file systems:\n%s", out)
	}
	if out := w.must("ps"); !strings.Contains(out, id) || !strings.Contains(out, "running") {
		t.Errorf("ps:\n%s", out)
	}
	elsewhere := newPerson(t, "alice")
	elsewhere.kinit("alice", 0)
	if out := elsewhere.must("status", "--on", "yarn", id); !strings.Contains(out, "running") {
		t.Errorf("status with a ticket, from elsewhere:\n%s", out)
	}
	bob := newPerson(t, "bob")
	bob.kinit("bob", 0)
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--user", "alice"}, "bob may not act for alice"},
		{nil, id},
	} {
		out, said, status := bob.muster(append([]string{"stop", "--now", "--on", "yarn", id}, c.flags...)...)
		if status != 69 || !strings.Contains(said, c.want) {
			t.Errorf("bob stops it with %v: status %d, %s%s", c.flags, status, out, said)
		}
	}
	if v := w.status(id); !running(v) {
		t.Errorf("it is %s", v.State)
	}
	w.must("stop", id)
	if o := w.wait(id); o.State != event.Stopped || o.Status != 130 {
		t.Errorf("stopped: %+v", o)
	}
	if out := w.logs(id); strings.Count(out, "hello from task/") != 2 {
		t.Errorf("logs after the end:\n%s", out)
	}
}

// A gateway with proxy rights runs jobs as others, and only as those for whom it
// has the rights.
func TestSecureAProxyActsForOthers(t *testing.T) {
	t.Parallel()
	w := newPerson(t, "alice")
	w.kinit("gateway", 0)
	out := w.must("run", "--on", "yarn", "--user", "alice", "--workdir", "none", "--memory", "256MiB", "-o", "name", "--", "bash", "-c", "echo as $USER")
	id := strings.TrimSpace(out)
	v := w.status(id)
	if v.User != "alice" || v.State != "succeeded" || !strings.HasPrefix(v.Dir, "/user/alice/") {
		t.Errorf("status says %+v", v)
	}
	if app := w.app(id); app.User != "alice" {
		t.Errorf("the ResourceManager says %+v", app)
	}
	if out := w.logs(id, "--no-prefix"); out != "as alice\n" {
		t.Errorf("it printed %q", out)
	}
	_, said, status := w.muster("run", "--on", "yarn", "--user", "carol", "--", "true")
	if status != 69 || !strings.Contains(said, "gateway may not act for carol") || !strings.Contains(said, "\nhint: an administrator sets hadoop.proxyuser.gateway.hosts") {
		t.Errorf("for carol: status %d, %s", status, said)
	}
}

// Who cannot prove who they are is told so before anything is sent, and what to do.
func TestSecureNobodyWithoutATicket(t *testing.T) {
	w := newPerson(t, "alice")
	refused := func(want ...string) {
		t.Helper()
		out, said, status := w.muster("run", "--on", "yarn", "--", "true")
		for _, s := range want {
			if status != 69 || !strings.Contains(said, s) {
				t.Errorf("status %d, %s%s\nwant %q", status, out, said, s)
			}
		}
	}
	refused("muster: hadoop.security.authentication: kerberos (core-site.xml:", "no kerberos ticket", "\nhint: kinit")
	w.kinit("alice", time.Second)
	w.eventually("the ticket is over", func() bool {
		_, said, _ := w.muster("ps", "--on", "yarn")
		return strings.Contains(said, "has expired")
	})
	refused("the kerberos ticket has expired", "\nhint: kinit")
	w.kinit("alice", 0)
	w.must("ps", "--on", "yarn")
	if err := os.Remove(filepath.Join(w.home, "cc")); err != nil {
		t.Fatal(err)
	}
}

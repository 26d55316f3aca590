package lab

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestADaemonsNameHasItsKindAndNumber(t *testing.T) {
	type part struct {
		Kind string
		N    int
	}
	want := map[string]part{"nn": {"nn", 0}, "nn2": {"nn", 2}, "rm1": {"rm", 1}, "nm12": {"nm", 12}, "kdc": {"kdc", 0}}
	got := map[string]part{}
	for name := range want {
		kind, n := split(name)
		got[name] = part{kind, n}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestModesHaveTheirDaemons(t *testing.T) {
	want := map[string]string{
		"capacity":  "nn dn rm nm1 nm2 nm3 nm4",
		"secure":    "kdc zk nn1 nn2 dn rm1 rm2 nm1 nm2 nm3 nm4",
		"integrity": "kdc nn dn rm nm1 nm2",
	}
	got := map[string]string{}
	for mode := range want {
		got[mode] = strings.Join((&Cluster{Mode: mode}).Names(), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Only Kerberos makes a client's name more than a word: no mode without it may
// look as if it had it, nor the other way round.
func TestProtectionIsForAllOrForNothing(t *testing.T) {
	for mode, m := range modes {
		c := &Cluster{Dir: "/d", Mode: mode, Base: 21000}
		got := []string{c.core()["hadoop.rpc.protection"], c.hdfs()["dfs.data.transfer.protection"], c.core()["hadoop.http.authentication.type"]}
		want := []string{m.Protection, m.Protection, ""}
		if m.Protection != "" {
			want[2] = "kerberos"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		if config, keytabs := c.Kerberos(); (config != "") != c.secure() || (keytabs != "") != c.secure() {
			t.Errorf("%s: KRB5_CONFIG=%s, keytabs in %s", mode, config, keytabs)
		}
	}
}

// A ResourceManager refuses to start where keys roll sooner than this.
func TestKeysRollNoFasterThanYARNAllows(t *testing.T) {
	y := (&Cluster{Dir: "/d", Mode: "secure", Base: 21000}).yarn()
	value := func(key string, unit time.Duration) time.Duration {
		n, err := strconv.Atoi(y[key])
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return time.Duration(n) * unit
	}
	for tokens, life := range map[string]string{"am-rm": "am", "nm": "nm", "container": "nm"} {
		roll := value("yarn.resourcemanager."+tokens+"-tokens.master-key-rolling-interval-secs", time.Second)
		least := 3 * value("yarn."+life+".liveness-monitor.expiry-interval-ms", time.Millisecond)
		if roll <= least || roll > least+time.Second {
			t.Errorf("keys of %s tokens roll after %v: it must be more than %v, and should be hardly more", tokens, roll, least)
		}
	}
}

func TestNothingIsLeftOfASecureClusterEither(t *testing.T) {
	c := stageMode(t, "secure", 0)
	if err := c.makeRealm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	c.started(t, "zk", "nn1", "rm2", "nm1")
	eventually(t, "the KDC answers", func() bool { return c.realm().Ready(t.Context()) == nil })
	kdc := c.pid(t, "kdc")
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pids := c.marked(""); len(pids) > 0 || !killed(kdc) {
		t.Errorf("still there: %v; and the KDC, %d: %v", pids, kdc, !killed(kdc))
	}
}

package yarn

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/hadoop/conf"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// The renewer is the resource manager, of the first one where several stand in
// for each other, as Hadoop's own clients fill it in.
func TestRenewer(t *testing.T) {
	for name, c := range map[string]struct {
		conf map[string]string
		want string
	}{
		"one":        {map[string]string{keyRMPrincipal: "rm/_HOST@LAB.TEST", "yarn.resourcemanager.address": "RM.lab.test:8032"}, "rm/rm.lab.test@LAB.TEST"},
		"no host":    {map[string]string{keyRMPrincipal: "yarn@LAB.TEST", "yarn.resourcemanager.address": "rm:8032"}, "yarn@LAB.TEST"},
		"fixed host": {map[string]string{keyRMPrincipal: "rm/main@LAB.TEST", "yarn.resourcemanager.hostname": "rm"}, "rm/main@LAB.TEST"},
		"the first of two": {map[string]string{keyRMPrincipal: "rm/_HOST@LAB.TEST", "yarn.resourcemanager.ha.enabled": "true",
			"yarn.resourcemanager.ha.rm-ids": "b,a", "yarn.resourcemanager.hostname.a": "host-a", "yarn.resourcemanager.hostname.b": "host-b"}, "rm/host-b@LAB.TEST"},
	} {
		if got, err := renewerOf(conf.New(c.conf)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	_, err := renewerOf(conf.New(map[string]string{"yarn.resourcemanager.address": "rm:8032"}))
	if !errors.Is(err, conf.ErrMissing) || !strings.Contains(err.Error(), keyRMPrincipal) || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("a principal that is missing: %v", err)
	}
}

// The token of the resource manager is found, and renewed, by the addresses of all.
func TestManagerService(t *testing.T) {
	two := map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
		"yarn.resourcemanager.address.a": "127.0.0.1:1", "yarn.resourcemanager.address.b": "localhost:2"}
	for name, c := range map[string]struct{ useIP, want string }{
		"by address": {"true", "127.0.0.1:1,127.0.0.1:2"},
		"by name":    {"false", "127.0.0.1:1,localhost:2"},
	} {
		got, err := managerService(t.Context(), conf.New(two).With(map[string]string{"hadoop.security.token.service.use_ip": c.useIP}))
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// What jobs must know of a secure cluster is sent with them, and no secret.
func TestSent(t *testing.T) {
	all := []string{"fs.defaultFS", "hadoop.security.authentication", "hadoop.security.auth_to_local", "hadoop.rpc.protection", "dfs.data.transfer.protection",
		"dfs.namenode.kerberos.principal", "dfs.datanode.kerberos.principal", "dfs.nameservices", "yarn.resourcemanager.principal", "yarn.nodemanager.principal",
		"yarn.resourcemanager.ha.rm-ids", "hadoop.security.token.service.use_ip",
		"yarn.resourcemanager.keytab", "dfs.namenode.keytab.file", "dfs.web.authentication.kerberos.keytab", "hadoop.security.credential.provider.path",
		"hadoop.security.group.mapping.ldap.bind.password", "hadoop.http.authentication.signature.secret.file", "ssl.server.keystore.password", "muster.keytab",
		"yarn.resourcemanager.zk-auth", "hadoop.security.group.mapping.ldap.bind.password.file", "yarn.nodemanager.local-dirs"}
	var got []string
	for _, key := range all {
		if sent(key) {
			got = append(got, key)
		}
	}
	if diff := cmp.Diff(all[:12], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, key := range all[:8] {
		if !stored(key) {
			t.Errorf("%s: executors do not get it", key)
		}
	}
	for _, key := range all[8:11] {
		if stored(key) {
			t.Errorf("%s: executors get it", key)
		}
	}
}

// A resource manager refuses late when it cannot renew a token: its reason reaches
// the user, with what is behind it.
func TestRejected(t *testing.T) {
	id, err := hadoop.ParseApp("application_1796072023316_0001")
	if err != nil {
		t.Fatal(err)
	}
	got := rejected(id, "Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: 10.0.0.1:8020, Ident: (token for alice)\n\tat …").Error()
	want := "yarn: the resource manager refused the job as application_1796072023316_0001: Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: 10.0.0.1:8020, Ident: (token for alice)\n" +
		"hint: the resource manager must reach each file system of the job, and be the one whom yarn.resourcemanager.principal names"
	if got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	if got := rejected(id, "queue is full").Error(); strings.Contains(got, "hint") {
		t.Errorf("%s", got)
	}
}

// Further file systems are written as their addresses.
func TestFilesystems(t *testing.T) {
	s, findings := Decode(testPlan(1, size1, map[string]any{"filesystems": []any{"hdfs://archive", "hdfs://nn.elsewhere:8020/"}}))
	if diff := cmp.Diff([]string{"hdfs://archive", "hdfs://nn.elsewhere:8020/"}, s.Filesystems); diff != "" || len(findings) > 0 {
		t.Errorf("%v (-want +got):\n%s", findings, diff)
	}
	for _, bad := range []string{"archive", "s3://bucket", "hdfs:///data", "hdfs://archive/data"} {
		if _, findings := Decode(testPlan(1, size1, map[string]any{"filesystems": bad})); len(findings) != 1 || findings[0].Path != "native.yarn.filesystems" {
			t.Errorf("%s: %v", bad, findings)
		}
	}
}

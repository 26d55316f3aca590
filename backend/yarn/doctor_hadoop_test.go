//go:build hadoop

package yarn

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
)

// finds looks for one finding by its check, verdict and a part of its text.
func finds(list []backend.Diagnosis, check, verdict, text string) bool {
	for _, d := range list {
		if d.Check == check && d.Verdict == verdict && strings.Contains(d.Text+" "+d.Hint, text) {
			return true
		}
	}
	return false
}

func TestDoctorGood(t *testing.T) {
	b := newClient(t, "alice", "")
	list := b.Diagnose(t.Context())
	for _, d := range list {
		if d.Verdict == verdictFailed {
			t.Errorf("%+v", d)
		}
	}
	for check, text := range map[string]string{"config": "alice", "namenode": "answers", "resourcemanager": "answers", "scheduler": "answers",
		"directory": "can be written", "clock": "agrees", "nodes": "4 run", "gpus": "on", "queues": "ml", "logs": "/app-logs"} {
		if !finds(list, check, verdictOK, text) {
			t.Errorf("nothing good is said of %s (%s): %+v", check, text, list)
		}
	}
}

func TestDoctorFinds(t *testing.T) {
	ctx := t.Context()
	diagnose := func(user string, change map[string]string) []backend.Diagnosis {
		c := At(os.Getenv("HADOOP_CONF_DIR"), Who{User: user})
		c.Conf = c.Conf.With(change)
		c.Layout.Root = "/user/alice/.muster-doctor-test"
		b := New(c)
		defer func() {
			if b.fs != nil && user == "alice" && change["fs.defaultFS"] == "" {
				if err := b.fs.Remove(context.WithoutCancel(ctx), c.Layout.Root); err != nil {
					t.Error(err)
				}
			}
			_ = b.Close()
		}()
		return b.Diagnose(ctx)
	}
	free := freePort(t)
	for _, c := range []struct {
		name, user, check, verdict, text string
		change                           map[string]string
	}{
		{"unreachable resource manager", "alice", "resourcemanager", verdictFailed, "yarn.resourcemanager.address", map[string]string{"yarn.resourcemanager.address": free}},
		{"unreachable scheduler", "alice", "scheduler", verdictWarning, free, map[string]string{"yarn.resourcemanager.scheduler.address": free}},
		{"unreachable web service", "alice", "web", verdictWarning, free, map[string]string{"yarn.resourcemanager.webapp.address": free}},
		{"unreachable namenode", "alice", "namenode", verdictFailed, "fs.defaultFS", map[string]string{"fs.defaultFS": "hdfs://" + free}},
		{"not HDFS", "alice", "config", verdictFailed, "fs.defaultFS", map[string]string{"fs.defaultFS": "file:///"}},
		{"directory of somebody else", "bob", "directory", verdictFailed, "native.yarn.dir", nil},
		{"no right to submit to ml", "bob", "queues", verdictOK, "bob may submit to default, small", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if list := diagnose(c.user, c.change); !finds(list, c.check, c.verdict, c.text) {
				t.Errorf("not found: %+v", list)
			}
		})
	}
}

// A key that is missing, or misspelt, is named with the file.
func TestDoctorKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, key, value string) {
		text := fmt.Sprintf("<configuration><property><name>%s</name><value>%s</value></property></configuration>", key, value)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list := New(At(dir, Who{User: "alice"})).Diagnose(t.Context()); !finds(list, "config", verdictFailed, "HADOOP_CONF_DIR") {
		t.Errorf("no configuration is not told: %+v", list)
	}
	write("core-site.xml", "fs.defaultFS", "hdfs://localhost:1")
	write("yarn-site.xml", "yarn.resourcemanager.hostnam", "localhost")
	list := New(At(dir, Who{User: "alice"})).Diagnose(t.Context())
	if !finds(list, "config", verdictFailed, "yarn.resourcemanager.hostname: not set") || !finds(list, "config", verdictFailed, "yarn-site.xml:1) is no key") {
		t.Errorf("the misspelt key is not told: %+v", list)
	}
}

// A clock that is wrong is told, whichever way.
func TestDoctorSkew(t *testing.T) {
	for ahead, want := range map[time.Duration]string{time.Second: verdictOK, -8 * time.Second: verdictWarning, 3 * time.Minute: verdictFailed, -time.Hour: verdictFailed} {
		d := &diagnosis{}
		d.skew("resource manager", ahead)
		if d.out[0].Verdict != want {
			t.Errorf("%s: %+v, want %s", ahead, d.out[0], want)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

//go:build hadoop

package yarn

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/storage"
)

// Every file of a job's directory is tried by everybody: what the lists open is
// open, and secrets are the owner's alone, whatever the lists say.
func TestFilesOfAJobAreOpenToWhomItsListsName(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	p := newPlan("alice", 1)
	p.ACLs.View.Users, p.ACLs.Modify.Users = []string{"bob"}, []string{"carol"}
	ref, err := b.Submit(t.Context(), submission(p))
	if err != nil {
		t.Fatal(err)
	}
	dir := JobDir(ref.Dir)
	// What coordinator and executors make, made as they make it.
	shown, own := storage.Shown(b.fs), b.fs
	for name, fsys := range map[string]storage.FS{
		"journal/000001.jsonl": shown, "endpoint/000001": shown, "logs/task-0/1/000001": shown,
		"authority.pem": own, "keytab": own, "aside-000001.json": own, "checkpoint/000001.json": own, "mailbox/alice.json": own,
	} {
		at := path.Join(ref.Dir, name)
		if err := fsys.Mkdir(t.Context(), path.Dir(at), modeOwn); err != nil {
			t.Fatal(err)
		}
		if err := storage.PublishBytes(t.Context(), fsys, at, modeData, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	open := []string{"journal", "journal/000001.jsonl", "endpoint", "endpoint/000001", "logs", "logs/task-0", "logs/task-0/1", "logs/task-0/1/000001", "apps", "apps/000001"}
	root := as(t, "root")
	var all []string
	var walk func(rel string)
	walk = func(rel string) {
		list, err := root.List(t.Context(), path.Join(ref.Dir, rel))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			all = append(all, path.Join(rel, f.Name()))
			if f.IsDir() {
				walk(path.Join(rel, f.Name()))
			}
		}
	}
	walk("")
	for _, name := range []string{"submission.json", "authority.pem", "keytab", "am-000001.json", "aside-000001.json", "checkpoint/000001.json", "mailbox", "journal/000001.jsonl"} {
		if !slices.Contains(all, name) {
			t.Errorf("%s is not there: nothing is shown by that nobody reads it", name)
		}
	}
	for _, user := range []string{"bob", "carol", "eve"} {
		c := as(t, user)
		for _, name := range all {
			err := c.Access(t.Context(), path.Join(ref.Dir, name), hdfs.Read)
			if want := user != "eve" && slices.Contains(open, name); want != (err == nil) || err != nil && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s reads %s: %v; want that it is allowed: %t", user, name, err, want)
			}
			if err := c.Access(t.Context(), path.Join(ref.Dir, name), hdfs.Write); (err == nil) != (user == "carol" && name == "mailbox") {
				t.Errorf("%s may write %s: %v", user, name, err)
			}
		}
		if _, err := c.Delete(t.Context(), path.Join(dir.Mailbox(), "alice.json")); err == nil {
			t.Errorf("%s removed a letter of alice's", user)
		}
	}
}

// Another user's stop is a letter whose owner is whose it is, or no letter.
func TestALetterIsItsSenders(t *testing.T) {
	b := newClient(t, "alice", "sleep 60")
	p := newPlan("alice", 1)
	p.ACLs.View.Users, p.ACLs.Modify.Users = []string{"bob"}, []string{"carol"}
	ref, err := b.Submit(t.Context(), submission(p))
	if err != nil {
		t.Fatal(err)
	}
	ref.Owner = "alice"
	for user, want := range map[string]string{"carol": "", "bob": "bob may not act on it", "eve": "eve may not act on it"} {
		other := newClient(t, user, "")
		if err := other.connect(); err != nil {
			t.Fatal(err)
		}
		err := other.mail(t.Context(), ref, letter(user, false))
		if (err == nil) != (want == "") || err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s leaves a letter: %v", user, err)
		}
		if want == "" {
			continue
		}
		var denied *access.Denied
		if err := other.Stop(t.Context(), ref, true); !errors.As(err, &denied) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s stops it: %v", user, err)
		}
	}
	letters, err := b.fs.List(t.Context(), JobDir(ref.Dir).Mailbox())
	if err != nil || len(letters) != 1 || letters[0].(storage.Owned).Owner() != "carol" {
		t.Fatalf("letters %v, %v; want carol's", letters, err)
	}
	if _, err := readText(t.Context(), b.fs, path.Join(JobDir(ref.Dir).Mailbox(), letters[0].Name())); err != nil {
		t.Errorf("alice's coordinator reads it: %v", err)
	}
}

// as is HDFS for somebody.
func as(t *testing.T, user string) *hdfs.Client {
	t.Helper()
	b := New(At(os.Getenv("HADOOP_CONF_DIR"), Who{User: user}))
	if err := b.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.fs.(interface{ Client() *hdfs.Client }).Client()
}

package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// A keytab of a job lets its coordinator log in as long as the job runs. It is
// as good as a password, so it goes no further than it must: into the job's own
// directory, not among the content-addressed files that stay for other jobs, from
// there into the coordinator's container, and away when the job ends.

// Keytab is the job's keytab, Krb5 the client's krb5.conf, for nodes that know
// nothing of the realm.
func (d JobDir) Keytab() string { return path.Join(string(d), FileKeytab) }

// Krb5 is what the coordinator reads after the node's own krb5.conf.
func (d JobDir) Krb5() string { return path.Join(string(d), FileKrb5) }

// What lies in the coordinator's container of a job with a keytab.
const (
	FileKeytab = "keytab"
	FileKrb5   = "krb5.conf"
)

// modeKey lets nobody change a key, and nobody else read it.
const modeKey fs.FileMode = 0o400

// largeKeytab bounds what is taken for one.
const largeKeytab = 1 << 20

// keytabPath is the local file that native.yarn.keytab names.
func (s *Settings) keytabPath() string {
	if rest, ok := strings.CutPrefix(s.Keytab, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return s.Keytab
}

// checkKeytab logs in as the coordinator will, and asks the NameNode something:
// what is wrong with a keytab must not come out in a week.
func (b *Backend) checkKeytab(ctx context.Context, p *plan.Plan, s *Settings) []plan.Finding {
	if !b.Login.Secure() {
		return nil
	}
	if s.Keytab == "" {
		return outlives(p, b.Conf.Duration(keyTokenLife, defaultTokenLife, time.Millisecond))
	}
	wrong := func(err error) []plan.Finding {
		text, hint := parted(err)
		return []plan.Finding{{Path: "native.yarn.keytab", Problem: text, Hint: hint}}
	}
	file := s.keytabPath()
	if _, err := readKeytab(file); err != nil {
		return wrong(err)
	}
	who, err := login.New(b.Conf, login.Options{User: b.User, Keytab: file, Principal: s.Principal, Getenv: b.Getenv})
	if err != nil {
		return wrong(err)
	}
	at, err := b.Conf.NameNodes("")
	if err == nil {
		var client *hdfs.Client
		if client, err = hdfs.New(b.Conf, who.NameNode(at)); err == nil {
			_, err = client.Stat(ctx, "/")
			err = errors.Join(err, client.Close())
		}
	}
	if err := errors.Join(err, who.Close()); err != nil {
		err = fmt.Errorf("%s: it cannot be used for this job: %w", file, err)
		if proof, bad := who.Proof(); bad == nil && proof.Real != b.User {
			err = hint(err, "take a keytab of %s, or have an administrator let %s act for %s (hadoop.proxyuser.%s)", b.User, proof.Real, b.User, proof.Real)
		}
		return wrong(err)
	}
	return nil
}

// outlives warns of a job that may run longer than its tokens.
func outlives(p *plan.Plan, life time.Duration) []plan.Finding {
	run := time.Duration(p.Timeout.Run)
	if run <= life {
		return nil
	}
	return []plan.Finding{{Path: "timeout.run", Warning: true,
		Problem: fmt.Sprintf("%s, and the job's tokens for HDFS end after %s: what runs then can write no logs, checkpoints and history, "+
			"unless native.yarn.keytab and native.yarn.principal let the coordinator get new ones", p.Timeout.Run, spec.Duration(life))}}
}

// Of NameNodes; where the client's files do not say it, it is Hadoop's default.
const (
	keyTokenLife     = "dfs.namenode.delegation.token.max-lifetime"
	defaultTokenLife = 7 * 24 * time.Hour
)

func readKeytab(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > largeKeytab {
		err = fmt.Errorf("%s: %d bytes, which is no keytab", file, info.Size())
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// storeKeytab puts the keytab, and the krb5.conf that it was tried with, into the
// job's directory.
func (b *Backend) storeKeytab(ctx context.Context, dir JobDir, s *Settings) error {
	if s.Keytab == "" || !b.Login.Secure() {
		return nil
	}
	key, err := readKeytab(s.keytabPath())
	if err != nil {
		return fmt.Errorf("native.yarn.keytab: %w", err)
	}
	realms, err := readKrb5(b.Getenv)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		mode fs.FileMode
		data []byte
	}{{dir.Keytab(), modeKey, key}, {dir.Krb5(), modeData, realms}} {
		if err := storage.PublishBytes(ctx, b.fs, f.name, f.mode, f.data); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// readKrb5 gives the first krb5.conf of this machine without what it includes:
// a node has its own, and needs this one only if that says nothing of the realm.
func readKrb5(getenv func(string) string) ([]byte, error) {
	const usual = "/etc/krb5.conf"
	list := usual
	if getenv != nil {
		if named := getenv("KRB5_CONFIG"); named != "" {
			list = named
		}
	}
	for name := range strings.SplitSeq(list, ":") {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); first != "include" && first != "includedir" && first != "module" {
				out.WriteString(line)
			}
		}
		return []byte(out.String()), nil
	}
	return nil, nil
}

// keytabFiles are what the coordinator's container gets of them: of this
// application alone, so that the node forgets them with it.
func (j *job) keytabFiles(ctx context.Context, files map[string]Resource) error {
	if j.settings.Keytab == "" || !j.Login.Secure() {
		return nil
	}
	for name, at := range map[string]string{FileKeytab: j.dir.Keytab(), FileKrb5: j.dir.Krb5()} {
		info, err := j.fs.Stat(ctx, at)
		if err != nil {
			return fmt.Errorf("native.yarn.keytab: %w", err)
		}
		files[name] = Resource{Path: at, Size: info.Size(), Time: info.ModTime().UnixMilli(), Once: true}
	}
	return nil
}

// removeKeytab is for a job that has ended: nobody needs its keytab any more.
func removeKeytab(ctx context.Context, fsys storage.FS, dir JobDir) error {
	return errors.Join(discard(ctx, fsys, dir.Keytab()), discard(ctx, fsys, dir.Krb5()))
}

// seal ends a job's journal, and what is of no use from then on.
func (b *Backend) seal(ctx context.Context, ref backend.Ref, o event.Outcome) error {
	if err := b.Seal(ctx, ref, o); err != nil {
		return err
	}
	return removeKeytab(ctx, b.fs, JobDir(ref.Dir))
}

// Ended is for a coordinator whose job is sealed, by it or by one before it.
func (a *Attempt) Ended(ctx context.Context) error {
	if a.AM.Principal == "" {
		return nil
	}
	return removeKeytab(ctx, a.FS, a.AM.Dir)
}

// loginOptions are how a coordinator logs in: with the job's keytab, where it has one
// in its container, else with what it was submitted with.
func (a *Attempt) loginOptions(dir string, cred *token.Credentials, getenv func(string) string) login.Options {
	o := login.Options{User: a.AM.User, Tokens: cred, Getenv: getenv}
	if a.AM.Principal == "" {
		return o
	}
	o.Tokens, o.Keytab, o.Principal = nil, filepath.Join(dir, FileKeytab), a.AM.Principal
	o.Getenv = func(name string) string {
		switch name {
		case "KRB5_CONFIG": // what comes first counts
			own := getenv(name)
			if own == "" {
				own = "/etc/krb5.conf"
			}
			return own + ":" + filepath.Join(dir, FileKrb5)
		case "HADOOP_TOKEN_FILE_LOCATION": // those wear out
			return ""
		}
		return getenv(name)
	}
	return o
}

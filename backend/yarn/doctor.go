package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// Verdicts of a diagnosis.
const (
	verdictOK      = "ok"
	verdictWarning = "warning"
	verdictFailed  = "failed"
)

// checkTime bounds one check: a service that does not answer must not hold the
// rest up.
const checkTime = 10 * time.Second

// Diagnose looks at everything that a job on this cluster needs. What rests on
// something that failed is left out.
func (b *Backend) Diagnose(ctx context.Context) []backend.Diagnosis {
	d := &diagnosis{Backend: b}
	if !d.configuration() {
		return d.out
	}
	proven := d.proof(time.Now())
	reached := d.reach(ctx)
	if !proven {
		return d.out
	}
	if err := b.connect(); err != nil {
		d.failure("yarn", err)
		return d.out
	}
	d.admitted(ctx, reached)
	for _, check := range []struct {
		needs string
		run   func(context.Context)
	}{
		{keyFS, d.directory}, {keyFS, d.tickets}, {keyFS, d.lists},
		{keyRM, d.nodes}, {keyRM, d.gpus}, {keyRM, d.queues},
		{keyWeb, d.clock}, {keyWeb, d.running},
	} {
		if !reached[check.needs] {
			continue
		}
		c, cancel := context.WithTimeout(ctx, checkTime)
		check.run(c)
		cancel()
	}
	return d.out
}

// diagnosis collects what was looked at.
type diagnosis struct {
	*Backend
	out     []backend.Diagnosis
	webAway bool // the ResourceManager's web service was asked and told nothing
}

func (d *diagnosis) add(check, verdict, hint, format string, args ...any) {
	d.out = append(d.out, backend.Diagnosis{Check: check, Verdict: verdict, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (d *diagnosis) ok(check, format string, args ...any) {
	d.add(check, verdictOK, "", format, args...)
}
func (d *diagnosis) warn(check, hint, format string, args ...any) {
	d.add(check, verdictWarning, hint, format, args...)
}

// failure is one that knows its hint.
func (d *diagnosis) failure(check string, err error) {
	text, hint := parted(err)
	d.failed(check, hint, "%s", text)
}

// parted takes the hints out of an error's text.
func parted(err error) (text, hint string) {
	var words, hints []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "hint: "); !ok {
			words = append(words, line)
		} else if !slices.Contains(hints, h) {
			hints = append(hints, h)
		}
	}
	return strings.Join(words, "; "), strings.Join(hints, "; ")
}

func (d *diagnosis) failed(check, hint, format string, args ...any) {
	d.add(check, verdictFailed, hint, format, args...)
}

// What the services are found by.
const (
	keyFS    = "fs.defaultFS"
	keyRM    = "yarn.resourcemanager.address"
	keySched = "yarn.resourcemanager.scheduler.address"
	keyWeb   = "yarn.resourcemanager.webapp.address"
)

// configuration looks for keys that are missing or misspelt.
func (d *diagnosis) configuration() bool {
	if d.Trouble != nil || d.Conf == nil {
		err := d.Trouble
		if err == nil {
			err = errors.New("no configuration")
		}
		text, _, _ := strings.Cut(err.Error(), "\n")
		d.failed("config", "set HADOOP_CONF_DIR to the directory of the cluster's core-site.xml, hdfs-site.xml and yarn-site.xml", "%s", text)
		return false
	}
	good := true
	complain := func(err error) {
		if err == nil {
			return
		}
		good = false
		hint := "copy the site files of a machine of the cluster"
		if missing, ok := errors.AsType[*conf.Missing](err); ok {
			if near := d.near(missing.Key); near != "" {
				hint = fmt.Sprintf("%s (%s) is no key of Hadoop's: was %s meant?", near, d.Conf.Origin(near), missing.Key)
			}
		}
		d.failed("config", hint, "%v", err)
	}
	_, err := d.Conf.NameNodes("")
	complain(err)
	_, err = d.Conf.ResourceManagers(conf.RMClient)
	complain(err)
	if err == nil {
		_, err = d.Conf.ResourceManagers(conf.RMScheduler)
		complain(err)
	}
	for _, err := range d.Conf.Problems() {
		d.warn("config", "", "%v", err)
	}
	if good && secure(d.Conf) {
		d.ok("config", "%s, with Kerberos", d.Conf.Dir())
	} else if good {
		d.ok("config", "%s, as user %s", d.Conf.Dir(), d.User)
	}
	return good
}

// near is a key of the site's files that is almost the one that is missing.
func (d *diagnosis) near(key string) string {
	var there []string
	for _, k := range d.Conf.Keys() {
		if strings.HasPrefix(k, key[:strings.IndexByte(key, '.')+1]) {
			there = append(there, k)
		}
	}
	return spec.Suggest(key, there)
}

// reach connects to every address that clients and coordinators need.
func (d *diagnosis) reach(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	files, _ := d.Conf.NameNodes("") // looked at before
	out[keyFS] = d.dial(ctx, "namenode", files.NameNodes, verdictFailed)
	for _, s := range []struct {
		key, name, verdict string
		service            conf.Service
	}{
		{keyRM, "resourcemanager", verdictFailed, conf.RMClient},
		{keySched, "scheduler", verdictWarning, conf.RMScheduler}, // only coordinators go there
		{keyWeb, "web", verdictWarning, conf.RMWeb},
	} {
		servers, err := d.Conf.ResourceManagers(s.service)
		if err != nil {
			d.warn(s.name, "", "%v", err)
			continue
		}
		out[s.key] = d.dial(ctx, s.name, servers, s.verdict)
	}
	return out
}

// dial says whether one of the servers that stand in for each other answers.
func (d *diagnosis) dial(ctx context.Context, name string, servers []conf.Server, verdict string) bool {
	var dead []string
	for _, s := range servers {
		c, cancel := context.WithTimeout(ctx, checkTime/3)
		conn, err := (&net.Dialer{}).DialContext(c, "tcp", s.Address)
		cancel()
		if err == nil {
			_ = conn.Close()
			d.ok(name, "%s answers", s.Address)
			return true
		}
		origin := d.Conf.Origin(s.Key)
		if origin == "" {
			origin = "not set there"
		}
		dead = append(dead, fmt.Sprintf("%s (%s, %s): %v", s.Address, s.Key, origin, innermost(err)))
	}
	hint := "is the address right, does the service run, and does a firewall let this machine through?"
	if name == "web" {
		hint += " Without it less can be refused and explained"
	}
	d.add(name, verdict, hint, "%s", strings.Join(dead, "; "))
	return false
}

// innermost is the first cause of an error: what goes before it repeats the address.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// directory writes, reads and removes a file where jobs lie, and compares clocks.
func (d *diagnosis) directory(ctx context.Context) {
	st := newStore(d.fs, d.Layout)
	name := path.Join(d.Layout.Jobs(), ".doctor")
	began := time.Now()
	err := st.prepare(ctx)
	if err == nil {
		err = d.fs.Remove(ctx, name)
	}
	if err == nil {
		err = storage.PublishBytes(ctx, d.fs, name, modeData, []byte("muster\n"))
	}
	var info fs.FileInfo
	if err == nil {
		_, err = readText(ctx, d.fs, name)
	}
	if err == nil {
		info, err = d.fs.Stat(ctx, name)
	}
	if err == nil {
		err = d.fs.Remove(ctx, name)
	}
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n") // closing the file fails as writing it does
		_, hint := parted(d.refusal(err))
		if hint == "" {
			hint = "jobs of yours lie there; native.yarn.dir names another directory"
			switch {
			case errors.Is(err, fs.ErrPermission):
				hint = fmt.Sprintf("give %s to %s, or name a directory of yours by native.yarn.dir", d.Layout.Root, d.User)
			case errors.Is(err, context.DeadlineExceeded):
				hint = fmt.Sprintf("HDFS took longer than %s: do its DataNodes run, and does a firewall let this machine through to them?", checkTime)
			}
		}
		d.failed("directory", hint, "%s cannot be written: %s", d.Layout.Root, text)
		return
	}
	d.ok("directory", "%s can be written", d.Layout.Root)
	d.skew("namenode", info.ModTime().Sub(began.Add(time.Since(began)/2)))
}

// Clocks that differ by more than these are told and refused. Container tokens
// expire after ten minutes by default, and leases count in seconds.
const (
	skewWarning = 5 * time.Second
	skewFailed  = 2 * time.Minute
)

func (d *diagnosis) skew(whose string, ahead time.Duration) {
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	away := ahead.Abs().Round(time.Second / 10)
	const hint = "let NTP set the clocks of all machines; timeouts and tokens go by them"
	switch {
	case away >= skewFailed:
		d.failed("clock", hint, "the clock of the %s is %s %s this machine's", whose, away, way)
	case away >= skewWarning:
		d.warn("clock", hint, "the clock of the %s is %s %s this machine's", whose, away, way)
	default:
		d.ok("clock", "that of the %s agrees with this machine's", whose)
	}
}

func (d *diagnosis) clock(ctx context.Context) {
	info, err := d.web.Info(ctx)
	if err != nil {
		d.webAway = true
		d.turnedAway("web", verdictWarning, hint(err, "without it less can be refused and explained"))
		return
	}
	d.ok("version", "Hadoop %s", info.Version)
	if !info.Clock.IsZero() {
		d.skew("resource manager", info.Ahead)
	}
}

// tickets looks whether the gangs of several users can see each other.
func (d *diagnosis) tickets(ctx context.Context) {
	info, err := d.fs.Stat(ctx, d.Layout.Shared)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("tickets", "%s is not there yet: the first job makes it", d.Layout.Shared)
	case err != nil:
		d.warn("tickets", "", "%v", err)
	case info.Mode().Perm()&0o002 == 0 && d.User != ownerOf(info):
		d.warn("tickets", "an administrator sets its mode to 1777; until then jobs of users who may not see each other's can hold each other up",
			"%s has mode %o: not everybody can write there", d.Layout.Shared, info.Mode().Perm())
	default:
		d.ok("tickets", "%s is everybody's", d.Layout.Shared)
	}
}

// ownerOf is who a file belongs to, as far as the file system tells.
func ownerOf(info fs.FileInfo) string {
	if o, ok := info.(interface{ Owner() string }); ok {
		return o.Owner()
	}
	return ""
}

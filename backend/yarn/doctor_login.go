package yarn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/rpc"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// soon is when a ticket's end is near enough to be told as a warning.
const soon = 30 * time.Minute

// proof tells who calls, by what and until when. Without one nothing else can be
// asked.
func (d *diagnosis) proof(now time.Time) bool {
	if d.Denied != nil {
		d.failure("kerberos", d.Denied)
		return false
	}
	if d.Login == nil || !d.Login.Secure() {
		return true
	}
	p, err := d.Login.Proof()
	if err != nil {
		d.failure("kerberos", err)
		return false
	}
	d.proven(p, now)
	return true
}

func (d *diagnosis) proven(p login.Proof, now time.Time) {
	switch text := "tickets of " + p.Principal; {
	case p.Principal == "":
		d.ok("kerberos", "no ticket is needed: tokens of %s, as %s", p.From, d.User)
	case p.Keytab:
		d.ok("kerberos", "%s are made with %s%s", text, p.From, d.acting(p.Real))
	default:
		text = fmt.Sprintf("%s in %s until %s%s%s", text, p.From, p.Expires.Local().Format(clockTime), renewable(p.Expires, p.Renewable, now), d.acting(p.Real))
		if left := p.Expires.Sub(now); left < soon {
			d.warn("kerberos", fmt.Sprintf("kinit makes new ones%s; jobs that run do not need them, what is done from here does", orRenews(p.Renewable, now)),
				"%s: %s left", text, left.Round(time.Second))
			return
		}
		d.ok("kerberos", "%s", text)
	}
}

const clockTime = "2006-01-02 15:04"

func renewable(expires, until, now time.Time) string {
	if until.After(expires) && until.After(now) {
		return ", renewable until " + until.Local().Format(clockTime)
	}
	return ", not renewable"
}

func orRenews(until, now time.Time) string {
	if until.After(now) {
		return ", kinit -R renews them"
	}
	return ""
}

// acting says for whom a proxy acts.
func (d *diagnosis) acting(real string) string {
	if real == "" || real == d.User {
		return ", as " + d.User
	}
	return fmt.Sprintf(", who acts as %s for %s", real, d.User)
}

// admitted asks NameNode and resource manager one question each. One that does
// not take our proof is asked nothing more.
func (d *diagnosis) admitted(ctx context.Context, reached map[string]bool) {
	for _, s := range []struct {
		key, name string
		ask       func(context.Context) error
	}{
		{keyFS, "namenode", func(ctx context.Context) error { _, err := d.fs.Stat(ctx, "/"); return err }},
		{keyRM, "resourcemanager", func(ctx context.Context) error { _, err := d.rm.ResourceTypes(ctx); return err }},
	} {
		if !reached[s.key] {
			continue
		}
		c, cancel := context.WithTimeout(ctx, checkTime)
		err := s.ask(c)
		cancel()
		switch {
		case errors.Is(err, kerberos.ErrKDC): // the other would wait for it as long
			d.failure("kerberos", err)
			reached[keyFS], reached[keyRM], reached[keyWeb] = false, false, false
			return
		case err != nil:
			reached[s.key] = false
			d.turnedAway(s.name, verdictFailed, err)
		}
	}
}

// turnedAway tells what a service that takes connections says instead of an answer.
func (d *diagnosis) turnedAway(name, verdict string, err error) {
	what := "it does not let us in"
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rpc.ErrConnect) || name == "web" && !unproven(err) {
		what = "it takes connections but gives no answer"
	}
	text, hint := parted(d.refusal(err))
	d.add(name, verdict, hint, "%s: %s", what, text)
}

// unproven tells that a web service answered, or was left alone, because of who calls.
func unproven(err error) bool {
	if _, ok := errors.AsType[*kerberos.Problem](err); ok {
		return true
	}
	r, ok := errors.AsType[*hadoop.Refusal](err)
	return ok && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden)
}

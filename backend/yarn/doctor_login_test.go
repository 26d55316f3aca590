package yarn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/rpc"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// What proves who we are is told: whose, from where, how long, and for whom.
func TestDoctorTellsOfTickets(t *testing.T) {
	now := time.Date(2026, 1, 2, 9, 0, 0, 0, time.Local)
	for name, c := range map[string]struct {
		proof login.Proof
		user  string
		want  backend.Diagnosis
	}{
		"a ticket": {login.Proof{Principal: "alice@LAB.TEST", From: "FILE:/tmp/krb5cc_1000", Expires: now.Add(10 * time.Hour), Renewable: now.Add(7 * 24 * time.Hour), Real: "alice"}, "alice",
			backend.Diagnosis{Check: "kerberos", Verdict: "ok", Text: "tickets of alice@LAB.TEST in FILE:/tmp/krb5cc_1000 until 2026-01-02 19:00, renewable until 2026-01-09 09:00, as alice"}},
		"a ticket that is not renewed": {login.Proof{Principal: "alice@LAB.TEST", From: "FILE:/tmp/krb5cc_1000", Expires: now.Add(10 * time.Hour), Real: "alice"}, "alice",
			backend.Diagnosis{Check: "kerberos", Verdict: "ok", Text: "tickets of alice@LAB.TEST in FILE:/tmp/krb5cc_1000 until 2026-01-02 19:00, not renewable, as alice"}},
		"a ticket at its end": {login.Proof{Principal: "alice@LAB.TEST", From: "FILE:/tmp/krb5cc_1000", Expires: now.Add(5 * time.Minute), Renewable: now.Add(24 * time.Hour), Real: "alice"}, "alice",
			backend.Diagnosis{Check: "kerberos", Verdict: "warning", Text: "tickets of alice@LAB.TEST in FILE:/tmp/krb5cc_1000 until 2026-01-02 09:05, renewable until 2026-01-03 09:00, as alice: 5m0s left",
				Hint: "kinit makes new ones, kinit -R renews them; jobs that run do not need them, what is done from here does"}},
		"a keytab": {login.Proof{Principal: "etl/edge@LAB.TEST", From: "/etc/etl.keytab", Keytab: true, Real: "etl"}, "etl",
			backend.Diagnosis{Check: "kerberos", Verdict: "ok", Text: "tickets of etl/edge@LAB.TEST are made with /etc/etl.keytab, as etl"}},
		"a proxy": {login.Proof{Principal: "gateway@LAB.TEST", From: "/etc/gateway.keytab", Keytab: true, Real: "gateway"}, "alice",
			backend.Diagnosis{Check: "kerberos", Verdict: "ok", Text: "tickets of gateway@LAB.TEST are made with /etc/gateway.keytab, who acts as gateway for alice"}},
		"tokens": {login.Proof{From: "/yarn/container_tokens"}, "alice",
			backend.Diagnosis{Check: "kerberos", Verdict: "ok", Text: "no ticket is needed: tokens of /yarn/container_tokens, as alice"}},
	} {
		d := &diagnosis{Backend: New(Config{User: c.user})}
		d.proven(c.proof, now)
		if diff := cmp.Diff([]backend.Diagnosis{c.want}, d.out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What is wrong with a ticket is told with its hint, and nothing else is asked.
func TestDoctorWithoutATicket(t *testing.T) {
	for _, err := range []error{kerberos.ErrNoTicket, kerberos.ErrExpired, kerberos.ErrPrincipal, kerberos.ErrKeytab, kerberos.ErrCache, kerberos.ErrConfig} {
		d := &diagnosis{Backend: New(Config{Denied: fmt.Errorf("FILE:/tmp/krb5cc_1000: %w\nhint: what to do", err)})}
		if d.proof(time.Now()) {
			t.Errorf("%v: is no obstacle", err)
		}
		want := backend.Diagnosis{Check: "kerberos", Verdict: "failed", Text: "FILE:/tmp/krb5cc_1000: " + err.Error(), Hint: "what to do"}
		if diff := cmp.Diff([]backend.Diagnosis{want}, d.out); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A service that does not take our proof is told apart from one that is silent.
func TestDoctorTurnedAway(t *testing.T) {
	c := conf.New(map[string]string{keyAuth: "kerberos"})
	skew := &kerberos.Problem{Thing: "alice@LAB.TEST", Kind: kerberos.ErrSkew, Hint: "this machine's clock is 7m0s behind: set the clock (chronyc tracking, timedatectl)"}
	for name, tc := range map[string]struct {
		err        error
		text, hint string
	}{
		"twice the same": {errors.Join(skew, skew), "it does not let us in: alice@LAB.TEST: the clocks differ by too much; alice@LAB.TEST: the clocks differ by too much", skew.Hint},
		"clock": {fmt.Errorf("getClusterNodes at rm:8032: authentication: %w", skew),
			"it does not let us in: getClusterNodes at rm:8032: authentication: alice@LAB.TEST: the clocks differ by too much", skew.Hint},
		"silence": {fmt.Errorf("getFileInfo at nn:8020: %w", context.DeadlineExceeded),
			"it takes connections but gives no answer: getFileInfo at nn:8020: context deadline exceeded", ""},
		"gone": {fmt.Errorf("getFileInfo at nn:8020: %w: refused", rpc.ErrConnect),
			"it takes connections but gives no answer: getFileInfo at nn:8020: no connection: refused", ""},
	} {
		d := &diagnosis{Backend: New(Config{Conf: c})}
		d.turnedAway("resourcemanager", verdictFailed, tc.err)
		want := backend.Diagnosis{Check: "resourcemanager", Verdict: "failed", Text: tc.text, Hint: tc.hint}
		if diff := cmp.Diff([]backend.Diagnosis{want}, d.out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A web service that wants another proof is told apart from one that is silent.
func TestDoctorTurnedAwayByTheWeb(t *testing.T) {
	for want, err := range map[string]error{
		"it does not let us in: http://rm:8088/info: status 401":                                &hadoop.Refusal{URL: "http://rm:8088/info", Status: 401},
		"it does not let us in: 10.0.0.1: the service's principal is not what it should be":     &kerberos.Problem{Thing: "10.0.0.1", Kind: kerberos.ErrService},
		"it takes connections but gives no answer: http://rm:8088/info: status 500":             &hadoop.Refusal{URL: "http://rm:8088/info", Status: 500},
		"it takes connections but gives no answer: Get \"http://rm:8088/info\": unexpected EOF": &url.Error{Op: "Get", URL: "http://rm:8088/info", Err: io.ErrUnexpectedEOF},
	} {
		d := &diagnosis{Backend: New(Config{Conf: conf.New(nil)})}
		d.turnedAway("web", verdictWarning, err)
		if d.out[0].Text != want {
			t.Errorf("%q, want %q", d.out[0].Text, want)
		}
	}
}

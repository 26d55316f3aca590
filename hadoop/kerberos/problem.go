package kerberos

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// What can be wrong: the identities of this package's errors.
var (
	ErrConfig    = errors.New("krb5.conf cannot be used")
	ErrKeytab    = errors.New("the keytab cannot be used")
	ErrCache     = errors.New("the ticket cache cannot be used")
	ErrNoTicket  = errors.New("no kerberos ticket")
	ErrExpired   = errors.New("the kerberos ticket has expired")
	ErrSkew      = errors.New("the clocks differ by too much")
	ErrPrincipal = errors.New("the principal cannot log in")
	ErrService   = errors.New("the service's principal is not what it should be")
	ErrEtype     = errors.New("no encryption type in common")
	ErrPeer      = errors.New("the server did not prove itself")
	// ErrKDC may pass: it is also a sasl.ErrAway, which calls are repeated for.
	ErrKDC = fmt.Errorf("no KDC could be asked: %w", sasl.ErrAway)
)

// Problem is an error with what to do about it.
type Problem struct {
	Thing string // what the reader can touch: a file, a principal, an address
	Kind  error  // one of this package's identities
	Cause error  // may be nil
	Hint  string // may be empty
}

func (p *Problem) Error() string {
	s := p.Thing + ": "
	if errors.Is(p.Kind, ErrKDC) {
		s += "no KDC could be asked"
	} else {
		s += p.Kind.Error()
	}
	if p.Cause != nil {
		s += ": " + p.Cause.Error()
	}
	if p.Hint != "" {
		s += "\nhint: " + p.Hint
	}
	return s
}

func (p *Problem) Unwrap() []error {
	if p.Cause == nil {
		return []error{p.Kind}
	}
	return []error{p.Kind, p.Cause}
}

// refusal turns a KDC's or a server's error message into a Problem. Who was
// refused, and for what service, is the caller's to know; offset is how far the
// other clock is ahead of ours.
func refusal(e messages.KRBError, client, service, from string, now time.Time) error {
	text := errorcode.Lookup(e.ErrorCode)
	if i := strings.LastIndex(text, ") "); i >= 0 {
		text = text[i+2:]
	}
	p := &Problem{Thing: client, Cause: fmt.Errorf("%s says %q (error %d)", from, strings.TrimSpace(text), e.ErrorCode)}
	p.judge(e, client, service, e.STime.Add(time.Duration(e.Susec)*time.Microsecond).Sub(now))
	return p
}

func (p *Problem) judge(e messages.KRBError, client, service string, offset time.Duration) {
	switch e.ErrorCode {
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, errorcode.KDC_ERR_WRONG_REALM:
		p.Kind, p.Hint = ErrPrincipal, "the KDC does not know "+client+": check the name and the realm (klist, klist -kt KEYTAB)"
	case errorcode.KDC_ERR_NAME_EXP, errorcode.KDC_ERR_KEY_EXPIRED, errorcode.KDC_ERR_CLIENT_REVOKED, errorcode.KDC_ERR_POLICY, errorcode.KDC_ERR_CLIENT_NOTYET:
		p.Kind, p.Hint = ErrPrincipal, "the account or its password has expired or is locked: ask the administrator of the realm"
	case errorcode.KDC_ERR_PREAUTH_FAILED:
		p.Kind, p.Hint = ErrKeytab, "the KDC has another key for "+client+": its password or key was changed after the keytab was made; get a new keytab"
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN, errorcode.KDC_ERR_SERVICE_NOTYET, errorcode.KDC_ERR_SERVICE_EXP, errorcode.KDC_ERR_SERVICE_REVOKED:
		p.Thing, p.Kind = service, ErrService
		if strings.HasPrefix(service, "krbtgt/") {
			p.Hint = "the KDC knows no way to this realm: [domain_realm] of krb5.conf, or default_realm, puts the host of a service there"
			return
		}
		p.Hint = "the KDC does not know this service: compare the host name with the one in the service's keytab (klist -kt); an address that is an alias or an IP address, or a wrong reverse name, gives a wrong _HOST"
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		p.Kind, p.Hint = ErrEtype, etypeHint
	case errorcode.KRB_AP_ERR_TKT_EXPIRED:
		p.Kind, p.Hint = ErrExpired, "kinit"
	case errorcode.KRB_AP_ERR_SKEW, errorcode.KRB_AP_ERR_TKT_NYV:
		p.skew(offset)
	case errorcode.KRB_AP_ERR_BADKEYVER, errorcode.KRB_AP_ERR_NOKEY, errorcode.KRB_AP_ERR_BAD_INTEGRITY, errorcode.KRB_AP_ERR_MODIFIED:
		p.Thing, p.Kind = service, ErrService
		p.Hint = "the service's keytab holds another key than the KDC: the key was changed, and the service did not get the new keytab; a ticket from before is renewed by kinit"
	case errorcode.KDC_ERR_SVC_UNAVAILABLE:
		p.Kind = ErrKDC
	default:
		p.Kind = ErrPrincipal
		if e.EText != "" {
			p.Cause = fmt.Errorf("%w: %s", p.Cause, e.EText)
		}
	}
}

// skew names the difference where it is known; KDCs tell their time with every
// refusal.
func (p *Problem) skew(offset time.Duration) {
	p.Kind = ErrSkew
	const how = "set the clock (chronyc tracking, timedatectl)"
	unit := time.Second
	if offset.Abs() > time.Minute {
		unit = 10 * time.Second // the way there takes time, too
	}
	switch off := offset.Round(unit); {
	case off >= time.Second:
		p.Hint = fmt.Sprintf("this machine's clock is %v behind: %s", off, how)
	case off <= -time.Second:
		p.Hint = fmt.Sprintf("this machine's clock is %v ahead: %s", -off, how)
	default:
		p.Hint = how
	}
}

const etypeHint = "known here are aes256-cts-hmac-sha1-96, aes128-cts-hmac-sha1-96, aes256-cts-hmac-sha384-192 and " +
	"aes128-cts-hmac-sha256-128; compare with the keys of principal and service (klist -kte), permitted_enctypes of krb5.conf and the KDC's supported_enctypes"

// Explain adds to a server's bare no what may be behind it: it tells the reason
// in its own log only. Other errors come back as they are.
func Explain(err error) error {
	remote, ok := errors.AsType[*rpc.RemoteError](err)
	if !ok || !strings.Contains(remote.Message, "GSS initiate failed") {
		return err
	}
	if _, known := errors.AsType[*Problem](err); known {
		return err
	}
	return &Problem{Thing: remote.Address, Kind: ErrService, Cause: err,
		Hint: "the server did not take our ticket: its clock differs, or its keytab holds an older key than the KDC (klist -kte there; kinit makes new tickets); its log has the reason behind \"Auth failed for\""}
}

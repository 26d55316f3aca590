package kerberos

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// exchange talks to KDCs for one principal.
type exchange struct {
	conf   *config
	client name
	now    func() time.Time
}

// body is what both requests have in common.
func (x *exchange) body(service name, kinds []int32, options ...int) messages.KDCReqBody {
	life := x.conf.life
	if life == 0 {
		life = 24 * time.Hour
	}
	b := messages.KDCReqBody{
		KDCOptions: types.NewKrbFlags(), CName: x.client.wire(), Realm: service.realm, SName: service.wire(),
		Till: x.now().UTC().Add(life), Nonce: nonce(), EType: kinds,
	}
	types.SetFlags(&b.KDCOptions, options)
	if x.conf.forwardable {
		types.SetFlag(&b.KDCOptions, flags.Forwardable)
	}
	if x.conf.renew > 0 {
		types.SetFlag(&b.KDCOptions, flags.Renewable)
		b.RTime = x.now().UTC().Add(x.conf.renew)
	}
	return b
}

// nonce is a positive number of 31 bits, as all KDCs take it.
func nonce() int {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return int(binary.BigEndian.Uint32(b[:]) & 0x7fffffff)
}

// first gets the ticket that others are got with, proving who asks by a keytab.
func (x *exchange) first(ctx context.Context, keys *keytab) (*ticket, error) {
	kinds := keys.kinds(x.client, x.conf.tgt)
	if len(kinds) == 0 {
		return nil, &Problem{Thing: keys.path, Kind: ErrEtype, Hint: etypeHint,
			Cause: fmt.Errorf("its keys of %s are %s; wanted is one of %s", x.client, etypeList(keys.all(x.client)), etypeList(x.conf.tgt))}
	}
	req := messages.ASReq{KDCReqFields: messages.KDCReqFields{PVNO: iana.PVNO, MsgType: msgtype.KRB_AS_REQ,
		PAData: types.PADataSequence{}, ReqBody: x.body(tgs(x.client.realm, x.client.realm), kinds)}}
	send := func() ([]byte, error) {
		b, err := req.Marshal()
		if err != nil {
			return nil, err
		}
		return x.conf.ask(ctx, x.client.realm, b)
	}
	answer, err := send()
	used := keyEntry{}
	if e, ok := errors.AsType[messages.KRBError](err); ok && e.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		if req.PAData, used, err = x.proof(e, keys, kinds); err == nil {
			answer, err = send()
		}
	}
	if e, ok := errors.AsType[messages.KRBError](err); ok {
		err = x.refused(e, "krbtgt/"+x.client.realm, keys, used)
	}
	if err != nil {
		return nil, err
	}
	var rep messages.ASRep
	if err := rep.Unmarshal(answer); err != nil {
		return nil, fmt.Errorf("the KDC's answer cannot be read: %w", err)
	}
	k, err := x.replyKey(rep, keys)
	if err != nil {
		return nil, err
	}
	t, err := x.open(rep.KDCRepFields, k.key, keyusage.AS_REP_ENCPART, req.ReqBody)
	if errors.Is(err, errSealed) {
		err = &Problem{Thing: keys.path, Kind: ErrKeytab, Cause: fmt.Errorf("%s: %w", k.text(), err), Hint: newKeytabHint}
	}
	return t, err
}

const newKeytabHint = "the key was changed after the keytab was made; get a new keytab"

// text names a key without telling it.
func (e keyEntry) text() string {
	return fmt.Sprintf("key version %d of %s, made %s", e.version, e.owner, e.made.UTC().Format(time.DateTime))
}

// refused explains a KDC's no, with what the keytab has to do with it.
func (x *exchange) refused(e messages.KRBError, service string, keys *keytab, used keyEntry) error {
	err := refusal(e, x.client.String(), service, "the KDC", x.now())
	if p, ok := errors.AsType[*Problem](err); ok && keys != nil && errors.Is(p.Kind, ErrKeytab) {
		p.Thing = keys.path
		p.Cause = fmt.Errorf("%s: %w", used.text(), p.Cause)
	}
	return err
}

// proof encrypts the time under a key that the KDC names the type of.
func (x *exchange) proof(e messages.KRBError, keys *keytab, kinds []int32) (types.PADataSequence, keyEntry, error) {
	offer, cookie := wanted(e.EData)
	kind := kinds[0]
	if len(offer) > 0 {
		kind = 0
		for _, id := range offer {
			if slices.Contains(kinds, id) {
				kind = id
				break
			}
		}
	}
	k, ok := keys.key(x.client, kind, 0)
	if !ok {
		return nil, k, &Problem{Thing: keys.path, Kind: ErrEtype, Hint: etypeHint,
			Cause: fmt.Errorf("the KDC has keys of %s for %s; the keytab has %s", etypeList(offer), x.client, etypeList(kinds))}
	}
	now := x.now().UTC()
	stamp, err := asn1.Marshal(types.PAEncTSEnc{PATimestamp: now, PAUSec: now.Nanosecond() / 1000})
	if err != nil {
		return nil, k, err
	}
	sealed, err := encrypt(k.key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, stamp)
	if err != nil {
		return nil, k, err
	}
	data, err := asn1.Marshal(types.EncryptedData{EType: kind, KVNO: int(k.version), Cipher: sealed})
	if err != nil {
		return nil, k, err
	}
	return append(types.PADataSequence{{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: data}}, cookie...), k, nil
}

// wanted reads what a KDC says that it wants as proof: the types of the keys
// that it has, and a cookie to be given back.
func wanted(data []byte) (kinds []int32, cookie types.PADataSequence) {
	var all types.PADataSequence
	if all.Unmarshal(data) != nil {
		return nil, nil
	}
	for _, pa := range all {
		switch pa.PADataType {
		case patype.PA_ETYPE_INFO2:
			var info types.ETypeInfo2
			if info.Unmarshal(pa.PADataValue) == nil {
				for _, i := range info {
					kinds = append(kinds, i.EType)
				}
			}
		case patype.PA_FX_COOKIE:
			cookie = types.PADataSequence{pa}
		}
	}
	return kinds, cookie
}

// replyKey finds the key that a KDC encrypted for: a version that the keytab
// does not have is what its owner must hear of.
func (x *exchange) replyKey(rep messages.ASRep, keys *keytab) (keyEntry, error) {
	kind, version := rep.EncPart.EType, uint32(rep.EncPart.KVNO)
	if k, ok := keys.key(x.client, kind, version); ok {
		return k, nil
	}
	k, ok := keys.key(x.client, kind, 0)
	if !ok {
		return k, &Problem{Thing: keys.path, Kind: ErrEtype, Cause: fmt.Errorf("the KDC answers with %s", etypeName(kind)), Hint: etypeHint}
	}
	return k, &Problem{Thing: keys.path, Kind: ErrKeytab, Cause: fmt.Errorf("%s; the KDC has version %d", k.text(), version), Hint: newKeytabHint}
}

// next gets a ticket for a service with another ticket, or with option Renew a
// longer one of the same.
func (x *exchange) next(ctx context.Context, with *ticket, service name, options ...int) (*ticket, error) {
	req := messages.TGSReq{KDCReqFields: messages.KDCReqFields{PVNO: iana.PVNO, MsgType: msgtype.KRB_TGS_REQ, ReqBody: x.body(service, x.conf.service, options...)}}
	if err := x.wield(&req, with); err != nil {
		return nil, err
	}
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	answer, err := x.conf.ask(ctx, service.realm, b)
	if e, ok := errors.AsType[messages.KRBError](err); ok {
		err = x.refused(e, service.String(), nil, keyEntry{})
	}
	if err != nil {
		return nil, err
	}
	var rep messages.TGSRep
	if err := rep.Unmarshal(answer); err != nil {
		return nil, fmt.Errorf("the KDC's answer cannot be read: %w", err)
	}
	return x.open(rep.KDCRepFields, with.key, keyusage.TGS_REP_ENCPART_SESSION_KEY, req.ReqBody)
}

// wield puts the ticket that is had already into a request.
func (x *exchange) wield(req *messages.TGSReq, with *ticket) error {
	body, err := req.ReqBody.Marshal()
	if err != nil {
		return err
	}
	et, err := cipher(with.key)
	if err != nil {
		return err
	}
	sum, err := et.GetChecksumHash(with.key.KeyValue, body, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return err
	}
	auth := x.authenticator()
	auth.Cksum = types.Checksum{CksumType: et.GetHashID(), Checksum: sum}
	ap, err := messages.NewAPReq(with.raw, with.key, auth)
	if err != nil {
		return err
	}
	b, err := ap.Marshal()
	if err != nil {
		return err
	}
	req.PAData = types.PADataSequence{{PADataType: patype.PA_TGS_REQ, PADataValue: b}}
	return nil
}

// authenticator says who uses a ticket, and when.
func (x *exchange) authenticator() types.Authenticator {
	now := x.now().UTC()
	return types.Authenticator{AVNO: iana.PVNO, CRealm: x.client.realm, CName: x.client.wire(),
		CTime: now, Cusec: now.Nanosecond() / 1000, SeqNumber: int64(nonce() & 0x3fffffff)}
}

var errSealed = errors.New("the KDC's answer cannot be decrypted")

// open decrypts a KDC's answer and compares it with what was asked.
func (x *exchange) open(rep messages.KDCRepFields, key types.EncryptionKey, usage uint32, asked messages.KDCReqBody) (*ticket, error) {
	plain, err := decrypt(key, usage, rep.EncPart.Cipher)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSealed, err)
	}
	var part messages.EncKDCRepPart
	if err := part.Unmarshal(plain); err != nil {
		return nil, fmt.Errorf("the KDC's answer cannot be read: %w", err)
	}
	server := nameOf(part.SName, part.SRealm)
	switch {
	case part.Nonce != asked.Nonce:
		err = errors.New("it answers another request")
	case !nameOf(rep.CName, rep.CRealm).equal(x.client):
		err = fmt.Errorf("it is for %s", nameOf(rep.CName, rep.CRealm))
	case !server.equal(nameOf(asked.SName, asked.Realm)) && (len(server.parts) != 2 || server.parts[0] != "krbtgt"):
		err = fmt.Errorf("it is a ticket for %s", server)
	}
	if err != nil {
		return nil, fmt.Errorf("the KDC's answer is refused: %w", err)
	}
	if _, err := crypto.GetEtype(part.Key.KeyType); err != nil || keySizes[part.Key.KeyType] == 0 {
		return nil, &Problem{Thing: server.String(), Kind: ErrEtype, Cause: fmt.Errorf("its session key is of %s", etypeName(part.Key.KeyType)), Hint: etypeHint}
	}
	t := &ticket{client: x.client, server: server, raw: rep.Ticket, key: part.Key, begin: part.StartTime, end: part.EndTime, renew: part.RenewTill}
	if t.begin.IsZero() {
		t.begin = part.AuthTime
	}
	return t, nil
}

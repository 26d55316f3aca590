package token

import (
	"fmt"
)

// HDFSIdentifier is what a NameNode writes into a delegation token's identifier,
// as far as anybody else needs it.
type HDFSIdentifier struct {
	Owner    string // who the NameNode takes the bearer for
	Renewer  string
	RealUser string // who asked for it, when that was a proxy for the owner
	Issued   int64  // milliseconds since 1970
	Max      int64  // end of life whatever is renewed, milliseconds since 1970
}

// ParseHDFS reads the identifier of an HDFS delegation token: a version byte 0,
// then owner, renewer and real user as Text, issue and maximum date as vint.
func ParseHDFS(t *Token) (HDFSIdentifier, error) {
	if t == nil || t.Kind != KindHDFS {
		return HDFSIdentifier{}, fmt.Errorf("%s: not an HDFS delegation token", t)
	}
	r := &reader{b: t.Identifier}
	if v := r.byte(); r.err == nil && v != 0 {
		return HDFSIdentifier{}, fmt.Errorf("%s: version %d of the identifier is unknown", t, v)
	}
	id := HDFSIdentifier{Owner: r.text(), Renewer: r.text(), RealUser: r.text(), Issued: r.vint(), Max: r.vint()}
	if r.err != nil {
		return HDFSIdentifier{}, fmt.Errorf("%s: identifier: %w", t, r.err)
	}
	return id, nil
}

package token

import (
	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

// Kinds of tokens: who issues them and what they are for.
const (
	KindAMRM      = "YARN_AM_RM_TOKEN"      // ResourceManager's, for an application master; its service is empty in the file
	KindNM        = "NMToken"               // ResourceManager's, for a master at one NodeManager
	KindContainer = "ContainerToken"        // ResourceManager's, a field of the start request, never used to log in
	KindRM        = "RM_DELEGATION_TOKEN"   // ResourceManager's, for clients without Kerberos
	KindHDFS      = "HDFS_DELEGATION_TOKEN" // NameNode's, for clients without Kerberos
	KindBlock     = "HDFS_BLOCK_TOKEN"      // NameNode's, for one block at the DataNodes
)

// Token is one Hadoop security token. Identifier and Password are opaque here:
// they are the user name and password of a DIGEST-MD5 exchange.
type Token struct {
	Alias      string // its name in a credentials file; not part of the token proper
	Identifier []byte
	Password   []byte
	Kind       string
	Service    string // what it is for: "ip:port", "host:port" or "ha-hdfs:name"; may be empty
}

// String tells what the token is without telling its password.
func (t *Token) String() string {
	if t == nil {
		return "no token"
	}
	if t.Service == "" {
		return t.Kind
	}
	return t.Kind + " for " + t.Service
}

// FromProto converts the protobuf form; nil stays nil.
func FromProto(p *ipcpb.Token) *Token {
	if p == nil {
		return nil
	}
	return &Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
}

// Proto converts to the protobuf form; nil stays nil.
func (t *Token) Proto() *ipcpb.Token {
	if t == nil {
		return nil
	}
	return &ipcpb.Token{Identifier: orEmpty(t.Identifier), Password: orEmpty(t.Password), Kind: &t.Kind, Service: &t.Service}
}

// orEmpty keeps a required bytes field present.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

package login

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// Services are known by their principals.
const (
	keyNameNode = "dfs.namenode.kerberos.principal"
	keyRM       = "yarn.resourcemanager.principal"
)

// NameNode is how the NameNodes of a file system are called: by a token of that
// file system if there is one, else by Kerberos.
func (l *Login) NameNode(fs conf.Filesystem) Auth {
	return l.auth(keyNameNode, func(ctx context.Context) *token.Token { return l.mine(hdfs.TokenFor(ctx, fs, l.tokens)) })
}

// RM is how the ResourceManager is called by clients.
func (l *Login) RM() Auth {
	return l.auth(keyRM, func(ctx context.Context) *token.Token { return l.mine(l.rmToken(ctx)) })
}

// mine drops a token that is somebody else's than who acts: whoever shows it is
// taken for its owner.
func (l *Login) mine(t *token.Token) *token.Token {
	owner := ownerOf(t)
	if owner == "" || l.kerberos == nil {
		return t
	}
	if short, err := l.short(owner); err != nil || short != l.user {
		return nil
	}
	return t
}

// ownerOf is whose a token is; nothing where that cannot be told.
func ownerOf(t *token.Token) string {
	if t == nil {
		return ""
	}
	switch t.Kind {
	case token.KindHDFS:
		id, _ := token.ParseHDFS(t)
		return id.Owner
	case token.KindRM:
		var id yarnpb.RMDelegationTokenIdentifier
		if proto.Unmarshal(t.Identifier, &id) == nil {
			return id.GetOwner()
		}
	}
	return ""
}

func (l *Login) auth(key string, find func(context.Context) *token.Token) Auth {
	if !l.secure {
		return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: l.user}, nil }
	}
	pattern := cmp.Or(l.conf.String(key+".pattern", ""), l.conf.String(key, ""))
	return func(ctx context.Context) (rpc.Auth, error) {
		a := rpc.Auth{Token: find(ctx), Fallback: l.fallback}
		if l.kerberos == nil && a.Token == nil {
			return a, fmt.Errorf("%s: %w: the tokens of %s are for other services\nhint: kinit, or a keytab; the tokens of a job's tasks are for file systems alone",
				key, ErrNoProof, cmp.Or(l.file, "the caller"))
		}
		if l.kerberos == nil {
			return a, nil
		}
		if l.real != "" {
			a.User, a.RealUser = l.user, l.real
		}
		if pattern != "" {
			a.Kerberos = l.kerberos.Service(pattern)
		} else if a.Token == nil {
			_, err := l.conf.Find(key)
			return a, fmt.Errorf("%w\nhint: it names the service's principal, such as %s/_HOST@%s; copy the cluster's site files", err, serviceName[key], l.kerberos.Realm())
		}
		return a, nil
	}
}

var serviceName = map[string]string{keyNameNode: "nn", keyRM: "rm"}

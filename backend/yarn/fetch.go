package yarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/token"
)

// fetcher gets tokens for a job that has a keytab.
type fetcher struct {
	conf        *conf.Conf
	login       *login.Login // by Kerberos
	filesystems []string     // of the job, beside the default one
	log         *slog.Logger
}

// fetch gets a token of the file system that an old one was fof. Its renewer
// are we: so the NameNode tells when it would have to be prolonged.
func (f *fetcher) fetch(ctx context.Context, service string) (token.Token, tokenLife, error) {
	client, err := f.client(ctx, service)
	if err != nil {
		return token.Token{}, tokenLife{}, err
	}
	proof, err := f.login.Proof()
	if err != nil {
		return token.Token{}, tokenLife{}, errors.Join(err, client.Close())
	}
	t, err := client.DelegationToken(ctx, proof.Principal)
	if err != nil {
		return token.Token{}, tokenLife{}, errors.Join(err, client.Close())
	}
	now := time.Now()
	life := tokenLife{Issued: now, End: now.Add(usualLife)}
	until, err := client.RenewToken(ctx, t)
	if id, wrong := token.ParseHDFS(t); err == nil && wrong == nil {
		life.End = now.Add(until.Sub(time.UnixMilli(id.Issued))) // its clock need not be ours
	} else {
		f.log.Warn("it is not known when a token must be prolonged; a day is assumed", "token", t, "error", errors.Join(err, wrong))
	}
	return *t, life, client.Close()
}

// cancel ends a token before its time.
func (f *fetcher) cancel(ctx context.Context, t token.Token) error {
	ctx, stop := context.WithTimeout(ctx, cancelLimit)
	defer stop()
	client, err := f.client(ctx, t.Service)
	if err != nil {
		return err
	}
	return errors.Join(client.CancelToken(ctx, &t), client.Close())
}

// cancelLimit bounds what the end of a job waits for and does not need.
const cancelLimit = 5 * time.Second

// client is of the file system that a token is for.
func (f *fetcher) client(ctx context.Context, service string) (*hdfs.Client, error) {
	at, err := f.place(ctx, service)
	if err != nil {
		return nil, err
	}
	return hdfs.New(f.conf.With(map[string]string{keyFS: "hdfs://" + at.Authority}), f.login.NameNode(at))
}

// usualLife is how long a token lives that nobody prolongs, unless the cluster
// was told otherwise.
const usualLife = 24 * time.Hour

// place is the file system that a token is for.
func (f *fetcher) place(ctx context.Context, service string) (conf.Filesystem, error) {
	one := &token.Credentials{Tokens: []token.Token{{Kind: token.KindHDFS, Service: service}}}
	uris := append([]string{""}, f.filesystems...)
	for _, name := range f.conf.Strings("dfs.nameservices") {
		uris = append(uris, "hdfs://"+name)
	}
	for _, uri := range uris {
		if at, err := f.conf.NameNodes(uri); err == nil && hdfs.TokenFor(ctx, at, one) != nil {
			return at, nil
		}
	}
	return conf.Filesystem{}, fmt.Errorf("%s: no file system of the job has that token: fs.defaultFS and native.yarn.filesystems name them", service)
}

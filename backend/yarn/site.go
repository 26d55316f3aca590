package yarn

import (
	"cmp"
	"errors"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/storage"
	files "github.com/muster-project/muster/storage/hdfs"
)

// Who is what a caller is known by.
type Who struct {
	// User is who acts. Without it: on a cluster with Kerberos whom the ticket is
	// for, on another whom HADOOP_USER_NAME names, else Account. Where the ticket
	// is somebody else's, that one is a proxy for User.
	User    string
	Account string // on this machine
	// Keytab and Principal stand in for a ticket cache; without them the site's
	// files may name some.
	Keytab, Principal string
	// Cache is a ticket cache; without it KRB5CCNAME, else the usual one.
	Cache  string
	Getenv func(string) string // nil: nothing is set
}

// Keys of a site's files that are muster's own.
const (
	keyKeytab    = "muster.keytab"
	keyPrincipal = "muster.principal"
)

// At is a Config for the cluster whose site files lie in a directory. If they
// cannot be read, or nobody can log in, the backend says so when it is asked
// something; doctor wants to say it in its own way.
func At(dir string, w Who) Config {
	if w.Getenv == nil {
		w.Getenv = func(string) string { return "" }
	}
	believed := cmp.Or(w.User, w.Getenv("HADOOP_USER_NAME"), w.Account)
	c, err := conf.Load(dir, conf.User(cmp.Or(w.Account, believed)))
	if errors.Is(err, conf.ErrNone) {
		err = hint(err, "HADOOP_CONF_DIR names the directory of the cluster's core-site.xml, hdfs-site.xml and yarn-site.xml")
	}
	out := Config{Conf: c, Trouble: err, User: believed, Getenv: w.Getenv}
	if c == nil {
		return out
	}
	o := login.Options{User: believed, Getenv: w.Getenv}
	if secure(c) {
		o = login.Options{User: cmp.Or(w.User, w.Getenv("HADOOP_PROXY_USER")), Cache: w.Cache, Getenv: w.Getenv,
			Keytab: cmp.Or(w.Keytab, c.String(keyKeytab, "")), Principal: cmp.Or(w.Principal, c.String(keyPrincipal, ""))}
		if w.Keytab != "" {
			o.Principal = w.Principal // that of another keytab is no use
		}
		if w.Cache != "" || w.Getenv("HADOOP_TOKEN_FILE_LOCATION") != "" {
			o.Keytab = w.Keytab // the site's is for whoever brings nothing
		}
		out.User = o.User
	}
	if out.Login, out.Denied = login.New(c, o); out.Denied == nil {
		out.User = out.Login.User()
	}
	return out
}

// openFiles opens a cluster's HDFS.
func openFiles(c *conf.Conf, l *login.Login) (storage.FS, error) {
	at, err := c.NameNodes("")
	if err != nil {
		return nil, err
	}
	client, err := hdfs.New(c, l.NameNode(at))
	if err != nil {
		return nil, err
	}
	return files.New(client), nil
}

// openREST opens the resource manager's web service.
func openREST(c *conf.Conf, l *login.Login) (*hadoop.REST, error) {
	if l.Secure() {
		return hadoop.NewREST(c, "", l.HTTP())
	}
	return hadoop.NewREST(c, l.User(), nil)
}

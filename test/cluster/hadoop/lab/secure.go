package lab

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/test/cluster/kdc"
)

// short makes whatever has an end in a production cluster, after a day or more,
// end while a test looks on. What rolls must roll no faster than three times as
// slowly as the lives of masters and nodes are watched.
var short = map[string]string{
	"yarn.am.liveness-monitor.expiry-interval-ms":                            "20000",
	"yarn.nm.liveness-monitor.expiry-interval-ms":                            "20000",
	"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     "61",
	"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        "61",
	"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "61",
	"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms":        "15000",
	"yarn.resourcemanager.delegation.token.renew-interval":                   milliseconds(renewal),
	"yarn.resourcemanager.delegation.token.max-lifetime":                     milliseconds(lifetime),
	"yarn.nodemanager.disk-health-checker.interval-ms":                       "2000",
}

var shortHDFS = map[string]string{
	"dfs.namenode.delegation.token.renew-interval": milliseconds(renewal),
	"dfs.namenode.delegation.token.max-lifetime":   milliseconds(lifetime),
}

// briefHDFS is for a job that outlives its tokens while a test waits for it.
var briefHDFS = map[string]string{
	"dfs.namenode.delegation.token.renew-interval": milliseconds(20 * time.Second),
	"dfs.namenode.delegation.token.max-lifetime":   milliseconds(time.Minute),
}

// Delegation tokens must be renewed so often, and end for good so soon.
const (
	renewal  = 80 * time.Second
	lifetime = 4 * time.Minute
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// People of a secure cluster. Each has a principal, a keytab, and a home on HDFS.
//
//	root     administers HDFS and YARN
//	alice    submits to the queues default and ml
//	bob      submits to default
//	carol    administers ml
//	dave     is nobody, but of the group research, as bob is
//	gateway  a service: it may act for alice and bob
const (
	groups = "hdfs=hdfs,supergroup;yarn=hadoop;root=root,supergroup;alice=alice;bob=bob,research;carol=carol;dave=dave,research;gateway=gateway"
	acted  = "alice,bob"
)

var (
	people   = []string{"root", "alice", "bob", "carol", "dave", "gateway"}
	services = []string{"nn", "dn", "rm", "nm", "HTTP"}
)

func (c *Cluster) secure() bool { return c.mode().Protection != "" }

// Users have a home on HDFS.
func (c *Cluster) Users() []string {
	if c.secure() {
		return people
	}
	return users
}

func (c *Cluster) realm() *kdc.KDC { return &kdc.KDC{Dir: c.path("kdc"), Port: c.Base + kdcPort} }

// Kerberos returns KRB5_CONFIG and the folder with USER.keytab of everybody; it
// returns nothing for a cluster without Kerberos.
func (c *Cluster) Kerberos() (config, keytabs string) {
	if !c.secure() {
		return "", ""
	}
	return c.realm().Config(), c.realm().Keytabs()
}

// Ticket makes a ticket cache of a user; lifetime 0 is a day.
func (c *Cluster) Ticket(ctx context.Context, user, cache string, lifetime time.Duration) error {
	return c.realm().Ticket(ctx, user, cache, lifetime)
}

// makeRealm makes the database of a new cluster.
func (c *Cluster) makeRealm(ctx context.Context) error {
	k, err := kdc.New(ctx, c.realm().Dir, c.realm().Port)
	if err != nil {
		return err
	}
	all := slices.Clone(people)
	for _, s := range services {
		all = append(all, s+"/localhost")
	}
	return k.Add(ctx, all...)
}

func (c *Cluster) keytab(service string) string { return c.realm().Keytab(service) }

// principal of a service; Hadoop puts the host in.
func principal(service string) string { return service + "/_HOST@" + kdc.Realm }

func (c *Cluster) secureCore() map[string]string {
	// A pattern in parentheses must have none inside.
	rules := []string{
		"RULE:[2:$1@$0]([nd]n@.*)s/.*/hdfs/",
		"RULE:[2:$1@$0]([rn]m@.*)s/.*/yarn/",
		"DEFAULT",
	}
	return map[string]string{
		"hadoop.security.authentication":             "kerberos",
		"hadoop.security.authorization":              "true",
		"hadoop.rpc.protection":                      c.mode().Protection,
		"hadoop.security.auth_to_local":              strings.Join(rules, "\n"),
		"hadoop.user.group.static.mapping.overrides": groups,
		"hadoop.proxyuser.gateway.hosts":             "localhost",
		"hadoop.proxyuser.gateway.users":             acted,
		// ResourceManagers that are told to get tokens for jobs whose own have ended.
		"hadoop.proxyuser.yarn.hosts": "localhost",
		"hadoop.proxyuser.yarn.users": acted,
		// Without the filter REST of the ResourceManager reads for everybody and
		// writes for nobody; without the type WebHDFS takes nobody.
		"hadoop.http.filter.initializers":               "org.apache.hadoop.security.AuthenticationFilterInitializer",
		"hadoop.http.authentication.type":               "kerberos",
		"hadoop.http.authentication.kerberos.principal": principal("HTTP"),
		"hadoop.http.authentication.kerberos.keytab":    c.keytab("HTTP"),
	}
}

func (c *Cluster) secureHDFS() map[string]string {
	return map[string]string{
		"dfs.block.access.token.enable":             "true",
		"dfs.data.transfer.protection":              c.mode().Protection,
		"dfs.namenode.kerberos.principal":           principal("nn"),
		"dfs.namenode.keytab.file":                  c.keytab("nn"),
		"dfs.datanode.kerberos.principal":           principal("dn"),
		"dfs.datanode.keytab.file":                  c.keytab("dn"),
		"dfs.web.authentication.kerberos.principal": principal("HTTP"),
		"dfs.web.authentication.kerberos.keytab":    c.keytab("HTTP"),
		// The DataNode takes ports above 1023 without TLS; file data is protected
		// all the same.
		"ignore.secure.ports.for.testing": "true",
	}
}

func (c *Cluster) secureYarn() map[string]string {
	p := map[string]string{"yarn.admin.acl": "root,yarn"}
	for daemon, service := range map[string]string{"resourcemanager": "rm", "nodemanager": "nm"} {
		prefix := "yarn." + daemon + "."
		p[prefix+"principal"] = principal(service)
		p[prefix+"keytab"] = c.keytab(service)
		p[prefix+"webapp.spnego-principal"] = principal("HTTP")
		p[prefix+"webapp.spnego-keytab-file"] = c.keytab("HTTP")
	}
	p["yarn.nodemanager.env-whitelist"] = "JAVA_HOME,PATH,LANG,TZ,KRB5_CONFIG," + markKey
	return p
}

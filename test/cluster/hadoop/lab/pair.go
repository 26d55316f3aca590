package lab

import (
	"fmt"
	"strconv"
)

// nameservice is what clients call the two NameNodes of a pair together.
const nameservice = "lab"

// nameNodes and managers list the daemons of a kind: one, or a pair.
func (c *Cluster) nameNodes() []string { return c.kind(nameNode) }
func (c *Cluster) managers() []string  { return c.kind(manager) }

func (c *Cluster) kind(name string) []string {
	if c.mode().Pairs {
		return []string{name + "1", name + "2"}
	}
	return []string{name}
}

// port is where the NameNode or ResourceManager called name has what the first of
// its kind has at offset.
func port(name string, offset int) int {
	if kind, n := split(name); n == 2 && kind != "nm" {
		return offset + pair
	}
	return offset
}

// split is a daemon's kind, and its number from 1, which is 0 for an only one.
func split(name string) (kind string, n int) {
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	n, _ = strconv.Atoi(name[end:]) // digits, or nothing
	return name[:end], n
}

// pairedHDFS is for two NameNodes that share a folder of edits: what one wrote
// last, the other reads when it becomes active. Nobody watches them: who is active
// is told by Failover.
func (c *Cluster) pairedHDFS() map[string]string {
	p := map[string]string{
		"dfs.nameservices":                                  nameservice,
		"dfs.internal.nameservices":                         nameservice,
		"dfs.ha.namenodes." + nameservice:                   "nn1,nn2",
		"dfs.namenode.shared.edits.dir":                     "file://" + c.path("data", "edits"),
		"dfs.client.failover.proxy.provider." + nameservice: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
		"dfs.client.failover.sleep.base.millis":             "200",
		"dfs.client.failover.sleep.max.millis":              "1000",
		"dfs.ha.fencing.methods":                            "shell(/bin/true)", // Failover sees to that
		"dfs.ha.standby.checkpoints":                        "false",
		"dfs.ha.tail-edits.period":                          "2",
		"dfs.ha.log-roll.period":                            "30",
		"dfs.namenode.num.extra.edits.retained":             "10000", // for a NameNode that was away
	}
	for _, name := range c.nameNodes() {
		suffix := "." + nameservice + "." + name
		p["dfs.namenode.rpc-address"+suffix] = address(c.Base, port(name, nnRPC))
		p["dfs.namenode.http-address"+suffix] = address(c.Base, port(name, nnHTTP))
		p["dfs.namenode.name.dir"+suffix] = "file://" + c.path("data", name)
	}
	return p
}

// pairedYarn is for two ResourceManagers, of which ZooKeeper elects one.
func (c *Cluster) pairedYarn() map[string]string {
	zk := address(c.Base, zkClient)
	p := map[string]string{
		"yarn.resourcemanager.ha.enabled": "true",
		"yarn.resourcemanager.cluster-id": "lab",
		"yarn.resourcemanager.ha.rm-ids":  "rm1,rm2",
		// The elector reads one of these, the store the other.
		"yarn.resourcemanager.zk-address":    zk,
		"hadoop.zk.address":                  zk,
		"yarn.resourcemanager.zk-timeout-ms": "4000", // how soon a death is noticed
		"hadoop.zk.timeout-ms":               "4000",
		"yarn.resourcemanager.store.class":   "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
		"yarn.client.failover-sleep-base-ms": "200",
		"yarn.client.failover-sleep-max-ms":  "1000",
	}
	for _, name := range c.managers() {
		p["yarn.resourcemanager.hostname."+name] = "localhost"
		for key, offset := range map[string]int{
			"address": rmClient, "scheduler.address": rmScheduler, "resource-tracker.address": rmTracker,
			"admin.address": rmAdmin, "webapp.address": rmWeb,
		} {
			p["yarn.resourcemanager."+key+"."+name] = address(c.Base, port(name, offset))
		}
	}
	return p
}

// zooKeeper is zoo.cfg.
func (c *Cluster) zooKeeper() []byte {
	return fmt.Appendf(nil, `dataDir=%s
clientPortAddress=localhost
clientPort=%d
tickTime=1000
maxClientCnxns=0
admin.enableServer=false
forceSync=no
`, c.path("data", "zk"), c.Base+zkClient)
}

// instance are the settings that one daemon of HDFS, or one of a pair, must have
// for itself, since all read one configuration.
func instance(name string) []string {
	switch kind, n := split(name); {
	case kind == "dn": // after 20 tries it would pause for seconds, while a NameNode comes up
		return []string{"-D", "ipc.client.connect.max.retries=1000"}
	case n == 0:
		return nil
	case kind == "nn":
		return []string{"-D", "dfs.ha.namenode.id=" + name}
	case kind == "rm":
		return []string{"-D", "yarn.resourcemanager.ha.id=" + name}
	}
	return nil
}

package lab

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed fair-scheduler.xml
var fairQueues []byte

//go:embed log4j.properties
var logging []byte

// writeConf writes HADOOP_CONF_DIR. One folder serves all daemons: what differs
// between NodeManagers is on their command lines.
func (c *Cluster) writeConf() error {
	files := map[string][]byte{
		"core-site.xml":      site(c.core()),
		"hdfs-site.xml":      site(c.hdfs()),
		"yarn-site.xml":      site(c.yarn()),
		"resource-types.xml": site(resourceTypes),
		"log4j.properties":   logging,
		"fair-scheduler.xml": fairQueues,
	}
	if c.mode().Pairs {
		files["zoo.cfg"] = c.zooKeeper()
		// The proxy of a ResourceManager reads the files once more, without what is on
		// the command line, and shows nobody a page if both are at the same address.
		for _, rm := range []string{"rm1", "rm2"} {
			own := c.yarn()
			own["yarn.resourcemanager.ha.id"] = rm
			files[rm+"/yarn-site.xml"] = site(own)
		}
	}
	if c.mode().Capacity != nil {
		files["capacity-scheduler.xml"] = site(c.capacity())
	}
	// The hadoop-hdfs jar on Maven lacks its web folders, and both of its daemons
	// refuse to start without them. WebHDFS and JMX need no more than this.
	for _, app := range []string{"hdfs", "datanode"} {
		files["webapps/"+app+"/WEB-INF/web.xml"] =
			[]byte(`<web-app xmlns="http://java.sun.com/xml/ns/javaee" version="2.5"/>` + "\n")
	}
	for name, data := range files {
		path := filepath.Join(c.Conf(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// site writes properties as Hadoop reads them.
func site(properties map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		var value bytes.Buffer
		_ = xml.EscapeText(&value, []byte(properties[key])) // a buffer takes everything
		fmt.Fprintf(&b, "  <property><name>%s</name><value>%s</value></property>\n", key, &value)
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

func (c *Cluster) core() map[string]string {
	p := map[string]string{
		"fs.defaultFS":                      "hdfs://" + address(c.Base, nnRPC),
		"hadoop.tmp.dir":                    c.path("data", "tmp"),
		"hadoop.http.staticuser.user":       "root", // lets plain REST administer
		"ipc.client.connect.retry.interval": "300",
		"ipc.client.connect.max.retries":    "20",
	}
	if c.mode().Pairs {
		p["fs.defaultFS"] = "hdfs://" + nameservice
	}
	if c.secure() {
		maps.Copy(p, c.secureCore())
	} else {
		p["hadoop.proxyuser.root.hosts"] = "*"
		p["hadoop.proxyuser.root.groups"] = "*"
	}
	return p
}

func (c *Cluster) hdfs() map[string]string {
	p := map[string]string{
		"dfs.replication":                                           "1",
		"dfs.datanode.data.dir":                                     "file://" + c.path("data", "dn"),
		"dfs.datanode.hostname":                                     "localhost",
		"dfs.datanode.address":                                      address(c.Base, dnData),
		"dfs.datanode.http.address":                                 address(c.Base, dnHTTP),
		"dfs.datanode.ipc.address":                                  address(c.Base, dnIPC),
		"dfs.datanode.du.reserved":                                  "0",
		"dfs.namenode.safemode.extension":                           "0",
		"dfs.blocksize":                                             "8388608",
		"dfs.namenode.handler.count":                                "5",
		"dfs.namenode.edits.noeditlogchannelflush":                  "true", // nobody's power fails here
		"dfs.namenode.fs-limits.min-block-size":                     "4096",
		"dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER", // there is no other
	}
	if c.mode().Pairs {
		maps.Copy(p, c.pairedHDFS())
	} else {
		p["dfs.namenode.name.dir"] = "file://" + c.path("data", "nn")
		p["dfs.namenode.http-address"] = address(c.Base, nnHTTP)
	}
	if c.secure() {
		maps.Copy(p, c.secureHDFS())
	}
	maps.Copy(p, c.mode().HDFS)
	return p
}

func (c *Cluster) yarn() map[string]string {
	p := map[string]string{
		"yarn.scheduler.minimum-allocation-mb":     "64",
		"yarn.scheduler.maximum-allocation-mb":     "4096",
		"yarn.scheduler.maximum-allocation-vcores": "8",
		"yarn.scheduler.include-port-in-node-name": "true", // four nodes on one host
		"yarn.acl.enable":                          "true",
		"yarn.admin.acl":                           "root",
		"yarn.resourcemanager.am.max-attempts":     "10",
		"yarn.webapp.ui2.enable":                   "false",
		// The placement processor tries labelled nodes too, in vain, and places one
		// container after the other.
		"yarn.resourcemanager.placement-constraints.handler": "scheduler",

		// Quick: what a production cluster leaves at seconds and minutes.
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "250",
		"yarn.nm.liveness-monitor.expiry-interval-ms":             "20000",
		"yarn.am.liveness-monitor.expiry-interval-ms":             "60000",
		"yarn.resourcemanager.connect.retry-interval.ms":          "500",
		"yarn.resourcemanager.connect.max-wait.ms":                "120000",
		"yarn.nodemanager.sleep-delay-before-sigkill.ms":          "2000",

		// State survives a killed daemon, and the containers go on.
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.work-preserving-recovery.enabled":            "true",
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
		"yarn.nodemanager.recovery.enabled":                                "true",
		"yarn.nodemanager.recovery.supervised":                             "true",
		"yarn.node-labels.enabled":                                         "true",
		"yarn.node-labels.configuration-type":                              "centralized",
		"yarn.node-labels.fs-store.root-dir":                               "file://" + c.path("data", "labels"),

		"yarn.nodemanager.container-executor.class": "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor",
		"yarn.nodemanager.pmem-check-enabled":       "true",
		"yarn.nodemanager.vmem-check-enabled":       "false",
		// true leaves memory to cgroups, and without them nothing is ever killed.
		"yarn.nodemanager.resource.memory.enforced":                                     "false",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.0",
		"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
		"yarn.nodemanager.env-whitelist":                                                "JAVA_HOME,PATH,LANG,TZ," + markKey,
		"yarn.application.classpath":                                                    c.Conf() + "," + filepath.Join(c.Jars, "*"),

		"yarn.log-aggregation-enable":         "true",
		"yarn.nodemanager.remote-app-log-dir": "/app-logs",
		"yarn.log-aggregation.retain-seconds": "86400",
	}
	if c.mode().Pairs {
		maps.Copy(p, c.pairedYarn())
	} else {
		maps.Copy(p, c.singleYarn())
	}
	if c.secure() {
		maps.Copy(p, c.secureYarn())
	}
	maps.Copy(p, c.mode().Yarn)
	if file, ok := p["yarn.scheduler.fair.allocation.file"]; ok {
		p["yarn.scheduler.fair.allocation.file"] = filepath.Join(c.Conf(), file)
	}
	maps.Copy(p, c.Set)
	return p
}

func (c *Cluster) singleYarn() map[string]string {
	return map[string]string{
		"yarn.resourcemanager.hostname":                 "localhost",
		"yarn.resourcemanager.address":                  address(c.Base, rmClient),
		"yarn.resourcemanager.scheduler.address":        address(c.Base, rmScheduler),
		"yarn.resourcemanager.resource-tracker.address": address(c.Base, rmTracker),
		"yarn.resourcemanager.admin.address":            address(c.Base, rmAdmin),
		"yarn.resourcemanager.webapp.address":           address(c.Base, rmWeb),
		"yarn.resourcemanager.store.class":              "org.apache.hadoop.yarn.server.resourcemanager.recovery.LeveldbRMStateStore",
		"yarn.resourcemanager.leveldb-state-store.path": c.path("data", "rm"),
	}
}

func (c *Cluster) capacity() map[string]string {
	const prefix = "yarn.scheduler.capacity."
	p := map[string]string{
		// The default one counts memory alone.
		prefix + "resource-calculator":         "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		prefix + "maximum-am-resource-percent": "0.8",
		prefix + "node-locality-delay":         "-1",
	}
	for key, value := range c.mode().Capacity {
		p[prefix+key] = value
	}
	return p
}

// resourceTypes makes yarn.io/gpu a countable resource, without the plugin that
// would look for real devices.
var resourceTypes = map[string]string{
	"yarn.resource-types":                                "yarn.io/gpu",
	"yarn.resource-types.yarn.io/gpu.maximum-allocation": "4",
}

// nodeArgs are the settings of NodeManager n that the others must not have.
func (c *Cluster) nodeArgs(n int) []string {
	first, node, dir := nmPort(n), c.mode().Nodes[n-1], c.path("data", "nm"+strconv.Itoa(n))
	args := []string{}
	set := func(key, value string) { args = append(args, "-D", key+"="+value) }
	set("yarn.nodemanager.hostname", "localhost")
	set("yarn.nodemanager.address", address(c.Base, first))
	set("yarn.nodemanager.localizer.address", address(c.Base, first+nmLocalizer))
	set("yarn.nodemanager.webapp.address", address(c.Base, first+nmWeb))
	set("yarn.nodemanager.webapp.https.address", address(c.Base, first+nmWebTLS))
	set("yarn.nodemanager.collector-service.address", address(c.Base, first+nmCollector))
	for key, sub := range map[string]string{"local-dirs": "local", "log-dirs": "log", "recovery.dir": "recovery"} {
		set("yarn.nodemanager."+key, filepath.Join(dir, sub))
	}
	set("yarn.nodemanager.resource.memory-mb", strconv.Itoa(node.Memory))
	set("yarn.nodemanager.resource.cpu-vcores", strconv.Itoa(node.VCores))
	set("yarn.nodemanager.resource-type.yarn.io/gpu", strconv.Itoa(node.GPUs))
	return args
}

// older tells a Hadoop before 3.5, whose reflection a Java of today forbids.
func older(version string) bool {
	return strings.HasPrefix(version, "3.3.") || strings.HasPrefix(version, "3.4.")
}

package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mode is the kind of cluster that a set of tests wants.
type Mode struct {
	About  string
	Nodes  []Node
	Labels map[string]bool // label of nodes → exclusive
	// HDFS, Yarn and Capacity add to hdfs-site.xml, yarn-site.xml and
	// capacity-scheduler.xml.
	HDFS, Yarn, Capacity map[string]string
	// Protection of calls and of file data: privacy or integrity. With one the
	// cluster has Kerberos, without it everybody is who he says.
	Protection string
	// Pairs is for two NameNodes, and two ResourceManagers with a ZooKeeper.
	Pairs bool
}

// Node is what one NodeManager declares, which need not be there.
type Node struct {
	Memory int // MiB
	VCores int
	GPUs   int // yarn.io/gpu, counted but not isolated
	Label  string
}

const (
	capacityScheduler = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
	fairScheduler     = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
)

// modes are what Up can bring up.
var modes = map[string]Mode{
	"capacity": {
		About:    "CapacityScheduler, queues default, ml, small and closed, labels gpu (exclusive) and batch, 4 nodes",
		Nodes:    labelled,
		Labels:   labels,
		Yarn:     map[string]string{"yarn.resourcemanager.scheduler.class": capacityScheduler},
		Capacity: queues,
	},
	"preempt": {
		About:  "capacity, where a queue takes back what others have borrowed from it, and nodes look at their disks every 2 s",
		Nodes:  labelled,
		Labels: labels,
		Yarn: merged(preemption, map[string]string{
			"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "15000",
			"yarn.nodemanager.disk-health-checker.interval-ms":                "2000",
		}),
		Capacity: queues,
	},
	"secure": {
		About:  "preempt with Kerberos at privacy, two NameNodes, two ResourceManagers, ZooKeeper, keys and tokens that end within minutes",
		Nodes:  labelled,
		Labels: labels,
		HDFS:   shortHDFS,
		Yarn:   merged(preemption, short),
		// Who administers a queue, and who only submits to it, are two people.
		Capacity:   merged(queues, map[string]string{"root.ml.acl_administer_queue": "carol"}),
		Protection: "privacy",
		Pairs:      true,
	},
	"integrity": {
		About: "CapacityScheduler, one queue, 2 nodes without labels, Kerberos at integrity, tokens of HDFS that live a minute",
		Nodes: []Node{{4096, 8, 4, ""}, {4096, 8, 0, ""}},
		HDFS:  briefHDFS,
		Yarn: merged(short, map[string]string{
			"yarn.resourcemanager.scheduler.class": capacityScheduler,
			"yarn.node-labels.enabled":             "false",
			// An attempt that starts when the submission's tokens have ended finds its files.
			"yarn.resourcemanager.proxy-user-privileges.enabled": "true",
			// With the usual three hours it would do so at once, and prolong no others.
			"yarn.resourcemanager.system-credentials.valid-time-remaining": "1000",
		}),
		Capacity: map[string]string{
			"root.queues":                          "default",
			"root.acl_submit_applications":         " ",
			"root.acl_administer_queue":            " ",
			"root.default.capacity":                "100",
			"root.default.acl_submit_applications": "*",
		},
		Protection: "integrity",
	},
	"fair": {
		About: "FairScheduler, queues default, ml and small, 4 nodes without labels, which it does not have; file data is encrypted, with block tokens",
		Nodes: []Node{{4096, 8, 4, ""}, {4096, 8, 4, ""}, {4096, 8, 4, ""}, {4096, 8, 0, ""}},
		// Encryption needs no Kerberos: the key comes from the NameNode.
		HDFS: map[string]string{
			"dfs.block.access.token.enable":           "true",
			"dfs.encrypt.data.transfer":               "true",
			"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
		},
		Yarn: map[string]string{
			"yarn.resourcemanager.scheduler.class":               fairScheduler,
			"yarn.scheduler.fair.allocation.file":                "fair-scheduler.xml",
			"yarn.scheduler.fair.preemption":                     "false",
			"yarn.node-labels.enabled":                           "false",
			"yarn.scheduler.increment-allocation-mb":             "64", // 1024 would quadruple a coordinator's container
			"yarn.scheduler.fair.assignmultiple":                 "true",
			"yarn.resourcemanager.placement-constraints.handler": "disabled",
		},
	},
	"bench": {
		About: "CapacityScheduler, one queue, 4 large nodes without labels",
		Nodes: []Node{{12288, 16, 0, ""}, {12288, 16, 0, ""}, {12288, 16, 0, ""}, {12288, 16, 0, ""}},
		Yarn: map[string]string{
			"yarn.resourcemanager.scheduler.class":     capacityScheduler,
			"yarn.node-labels.enabled":                 "false",
			"yarn.scheduler.maximum-allocation-mb":     "12288",
			"yarn.scheduler.maximum-allocation-vcores": "16",
			// ls, find and cp for every container: half of what a small task costs.
			"yarn.nodemanager.log-container-debug-info.enabled": "false",
			// A master in Java may take a minute to register on a machine that has other work.
			"yarn.am.liveness-monitor.expiry-interval-ms": "300000",
		},
		Capacity: map[string]string{
			"root.queues":           "default",
			"root.default.capacity": "100",
		},
	},
}

var (
	labels   = map[string]bool{"gpu": true, "batch": false}
	labelled = []Node{{4096, 8, 4, ""}, {4096, 8, 4, ""}, {4096, 8, 4, "gpu"}, {4096, 8, 0, "batch"}}
)

// preemption is for the CapacityScheduler alone.
var preemption = map[string]string{
	"yarn.resourcemanager.scheduler.class":          capacityScheduler,
	"yarn.resourcemanager.scheduler.monitor.enable": "true",
	"yarn.resourcemanager.scheduler.monitor.policies": "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity." +
		"ProportionalCapacityPreemptionPolicy",
	"yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval": "1000",
	// Time to save between the warning and the kill; 15 s by default.
	"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill":           "8000",
	"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round":     "1.0",
	"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor":     "1.0",
	"yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity":      "0.05",
	"yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled": "false",
}

// queues of the CapacityScheduler. Rights add up along the path, so the root
// must grant nobody, which is written as one blank.
//
// small is where limits are met early: of the 8 GiB without label it has 20 %
// for one user, 25 % for all.
var queues = map[string]string{
	"root.queues":                                                "default,ml,small,closed",
	"root.acl_submit_applications":                               " ",
	"root.acl_administer_queue":                                  " ",
	"root.accessible-node-labels":                                "*",
	"root.accessible-node-labels.gpu.capacity":                   "100",
	"root.accessible-node-labels.batch.capacity":                 "100",
	"root.default.capacity":                                      "40",
	"root.default.maximum-capacity":                              "100",
	"root.default.user-limit-factor":                             "4",
	"root.default.acl_submit_applications":                       "*",
	"root.default.accessible-node-labels":                        "batch",
	"root.default.accessible-node-labels.batch.capacity":         "50",
	"root.default.accessible-node-labels.batch.maximum-capacity": "100",
	"root.ml.capacity":                                           "40",
	"root.ml.maximum-capacity":                                   "100",
	"root.ml.user-limit-factor":                                  "4",
	"root.ml.acl_submit_applications":                            "alice",
	"root.ml.acl_administer_queue":                               "alice",
	"root.ml.accessible-node-labels":                             "gpu,batch",
	"root.ml.accessible-node-labels.gpu.capacity":                "100",
	"root.ml.accessible-node-labels.batch.capacity":              "50",
	"root.ml.accessible-node-labels.batch.maximum-capacity":      "100",
	"root.small.capacity":                                        "20",
	"root.small.maximum-capacity":                                "25",
	"root.small.user-limit-factor":                               "1",
	"root.small.acl_submit_applications":                         "*",
	"root.small.accessible-node-labels":                          " ",
	"root.closed.capacity":                                       "0",
	"root.closed.state":                                          "STOPPED",
	"root.closed.acl_submit_applications":                        "*",
	"root.closed.accessible-node-labels":                         " ",
}

// merged is the union; where both have a key, more's value holds.
func merged(base, more map[string]string) map[string]string {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

// Modes lists the modes, one a line, with what they are.
func Modes() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		fmt.Fprintf(&b, "%-9s %s\n", name, modes[name].About)
	}
	return b.String()
}

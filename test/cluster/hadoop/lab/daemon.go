package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// markKey is the variable by which a process is known to be a part of a cluster.
// NodeManagers hand it on to their containers: it is on their list of such.
const markKey = "MUSTER_LAB"

// mark is the setting of markKey in the daemon called name, or the beginning of
// every daemon's without a name.
func mark(dir, name string) string { return markKey + "=" + dir + ":" + name }

// Mark is the beginning of a setting that every process of this cluster has in
// its environment, containers too.
func (c *Cluster) Mark() string { return mark(c.Dir, "") }

// daemon is a JVM's main class, and the heap that is enough for it in tests.
type daemon struct {
	class string
	heap  string
}

var daemons = map[string]daemon{
	"nn": {"org.apache.hadoop.hdfs.server.namenode.NameNode", "96m"},
	"dn": {"org.apache.hadoop.hdfs.server.datanode.DataNode", "64m"},
	"rm": {"org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", "160m"},
	"nm": {"org.apache.hadoop.yarn.server.nodemanager.NodeManager", "80m"},
	"zk": {"org.apache.zookeeper.server.quorum.QuorumPeerMain", "64m"},
}

// command returns the arguments, program first, that run the daemon called name.
func (c *Cluster) command(name string, more []string) ([]string, error) {
	kind, n := split(name)
	if kind == "kdc" { // the only one that is no JVM
		return c.realm().Command()
	}
	d := daemons[kind]
	args, err := c.java(d.heap, name)
	if err != nil {
		return nil, err
	}
	args = append(args, d.class)
	switch kind {
	case "zk":
		args = append(args, filepath.Join(c.Conf(), "zoo.cfg"))
	case "nm":
		args = append(args, c.nodeArgs(n)...)
	default:
		args = append(args, instance(name)...)
	}
	return append(args, more...), nil
}

// java returns the command line up to the main class.
func (c *Cluster) java(heap, name string) ([]string, error) {
	jars, err := c.classPath()
	if err != nil {
		return nil, err
	}
	args := []string{
		filepath.Join(c.Java, "bin", "java"), "-Xmx" + heap,
		// Little processor time for code that runs for minutes only.
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-Xss512k", "-XX:MaxMetaspaceSize=192m",
		"-XX:-UsePerfData", // which would be files outside the directory
		"-Djava.io.tmpdir=" + c.path("tmp"),
		"-Djava.net.preferIPv4Stack=true",
		"-Dlog4j.configuration=file:" + filepath.Join(c.Conf(), "log4j.properties"),
	}
	if c.secure() { // Java looks for it in places of its own
		args = append(args, "-Djava.security.krb5.conf="+c.realm().Config())
	}
	if older(c.Version) {
		args = append(args, "--add-opens=java.base/java.lang=ALL-UNNAMED")
	}
	if c.Archive != "" {
		args = append(args, "-XX:SharedArchiveFile="+c.Archive)
	}
	if c.Learn {
		args = append(args, "-XX:DumpLoadedClassList="+c.path("classes", name))
	}
	if kind, n := split(name); kind == "rm" && n > 0 {
		jars = append(jars, filepath.Join(c.Conf(), name))
	}
	return append(args, "-cp", strings.Join(append(jars, c.Conf()), ":")), nil
}

// classPath is the jars by name and in order; the configuration comes behind them:
// an archive only fits a class path that begins with exactly the jars from which
// it was made.
func (c *Cluster) classPath() ([]string, error) {
	jars, err := jarsOf(c.Jars)
	if err == nil && c.StandIn != "" {
		jars = append([]string{c.StandIn}, jars...)
	}
	return jars, err
}

// environ of the daemon called name. Containers inherit what is here, so it holds
// nothing that a node of a real cluster would not have.
func (c *Cluster) environ(name string) []string {
	if name == "kdc" {
		return append(c.realm().Environ(), mark(c.Dir, name))
	}
	env := append(slices.Clone(c.Env), mark(c.Dir, name))
	env = append(env, "JAVA_HOME="+c.Java)
	if config, _ := c.Kerberos(); config != "" { // a real node has /etc/krb5.conf
		env = append(env, "KRB5_CONFIG="+config)
	}
	return env
}

// jarsOf lists the jars of a folder in the order of their names.
func jarsOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var jars []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jar") {
			jars = append(jars, filepath.Join(dir, e.Name()))
		}
	}
	if len(jars) == 0 {
		return nil, fmt.Errorf("%s: no jars", dir)
	}
	return jars, nil
}

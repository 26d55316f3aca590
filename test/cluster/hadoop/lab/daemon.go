package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
}

// command returns the arguments, program first, that run the daemon called name.
func (c *Cluster) command(name string, more []string) ([]string, error) {
	kind := strings.TrimRight(name, "0123456789")
	d := daemons[kind]
	args, err := c.java(d.heap, name)
	if err != nil {
		return nil, err
	}
	args = append(args, d.class)
	if kind == "nm" {
		n, _ := strconv.Atoi(strings.TrimPrefix(name, kind)) // a name of ours
		args = append(args, c.nodeArgs(n)...)
	}
	return append(args, more...), nil
}

// java returns the command line up to the main class. The class path is the jars
// by name and in order, the configuration last: an archive only fits a class path
// that begins with exactly the jars from which it was made.
func (c *Cluster) java(heap, name string) ([]string, error) {
	jars, err := jarsOf(c.Jars)
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
	if older(c.Version) {
		args = append(args, "--add-opens=java.base/java.lang=ALL-UNNAMED")
	}
	if c.Archive != "" {
		args = append(args, "-XX:SharedArchiveFile="+c.Archive)
	}
	if c.Learn {
		args = append(args, "-XX:DumpLoadedClassList="+c.path("classes", name))
	}
	return append(args, "-cp", strings.Join(append(jars, c.Conf()), ":")), nil
}

// environ of the daemon called name. Containers inherit what is here, so it holds
// nothing that a node of a real cluster would not have.
func (c *Cluster) environ(name string) []string {
	return append(slices.Clone(c.Env), "JAVA_HOME="+c.Java, mark(c.Dir, name))
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

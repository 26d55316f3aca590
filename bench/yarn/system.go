package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// system is one way to run a job on YARN.
type system interface {
	name() string
	// prepare fetches what is needed, before anything is measured.
	prepare(ctx context.Context, s site) error
	// command runs n tasks of the argument list and waits for their end.
	command(ctx context.Context, n int, argv []string) *exec.Cmd
	// clean ends what the command may have left running.
	clean(ctx context.Context) error
}

// site is where the systems run.
type site struct {
	cluster *lab.Cluster
	cache   string // for what is downloaded
	dir     string // for the files of this call
}

// peerConf makes a configuration for a Java client whose containers have another
// class path than the cluster's: the nodes are on this machine, so jars that lie
// here need no upload.
func (s site) peerConf(name string, classpath ...string) (string, error) {
	dir := filepath.Join(s.dir, "conf-"+name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, file := range []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "resource-types.xml", "log4j.properties"} {
		data, err := os.ReadFile(filepath.Join(s.cluster.Conf(), file))
		if err != nil {
			return "", err
		}
		if file == "yarn-site.xml" {
			// Of a key that is defined twice, the last definition counts.
			value := strings.Join(append([]string{dir}, classpath...), ",")
			more := "  <property><name>yarn.application.classpath</name><value>" + value + "</value></property>\n</configuration>"
			data = []byte(strings.Replace(string(data), "</configuration>", more, 1))
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// java is the command line of a client in Java up to its main class, with the
// options that let a short-lived one start soonest.
func (s site) java(classpath ...string) []string {
	return []string{
		filepath.Join(s.cluster.Java, "bin", "java"), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", strings.Join(classpath, ":"),
	}
}

// environ is the caller's, with more.
func (s site) environ(conf string, more ...string) []string {
	return append(append(os.Environ(), "HADOOP_CONF_DIR="+conf, "JAVA_HOME="+s.cluster.Java), more...)
}

package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A class-data archive holds the classes that the daemons load, parsed and laid
// out. It belongs to one build of Java and to one set of jars, at their paths;
// Java ignores one that does not fit.

// archiveFor is where the archive of these jars, with a stand-in before them or
// none, for this Java lies.
func archiveFor(jars, standIn, java string) string {
	about, _ := os.ReadFile(filepath.Join(java, "release")) // version and build; not every Java has it
	key := sha256.New()
	fmt.Fprintf(key, "%s\n%s", java, about)
	fmt.Fprint(key, standIn)
	if info, err := os.Stat(filepath.Join(java, "lib", "server", "libjvm.so")); err == nil {
		fmt.Fprintln(key, info.Size(), info.ModTime().UnixNano())
	}
	return filepath.Join(jars, fmt.Sprintf("classes-%.4x.jsa", key.Sum(nil)))
}

// MakeArchive makes the archive for the jars of a cluster that was brought up
// without one, from the names of the classes that its daemons have loaded. The
// cluster must be down. It does nothing where there is an archive.
func (c *Cluster) MakeArchive(ctx context.Context) error {
	path := archiveFor(c.Jars, c.StandIn, c.Java)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	lists, err := filepath.Glob(c.path("classes", "*"))
	if err != nil {
		return err
	}
	names, err := classes(lists)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: no class names: this cluster had an archive, or never ran", c.path("classes"))
	}
	all := c.path("classes", "all")
	if err := os.WriteFile(all, []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	defer os.Remove(all)
	jars, err := c.classPath()
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(temp)
	// No folder may be on the class path here; behind the jars it may be later.
	cmd := exec.CommandContext(ctx, filepath.Join(c.Java, "bin", "java"), "-Xshare:dump", "-Xlog:cds=error", "-XX:+UseSerialGC",
		"-XX:SharedClassListFile="+all, "-XX:SharedArchiveFile="+temp, "-cp", strings.Join(jars, ":"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("class-data archive: %w\n%s", err, tail(string(out), 10))
	}
	return os.Rename(temp, path)
}

// classes merges the lists that the daemons have written.
func classes(lists []string) ([]string, error) {
	names := map[string]bool{}
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			// Without its end a line may be half a name: that daemon was killed.
			if name, whole := strings.CutSuffix(line, "\n"); whole && !strings.HasPrefix(name, "#") {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

package lab

import (
	"encoding/xml"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every daemon of every mode must find ports of its own, inside what was claimed.
func TestPortsOfAClusterAreItsOwn(t *testing.T) {
	for mode := range modes {
		t.Run(mode, func(t *testing.T) {
			c := &Cluster{Dir: "/d", Mode: mode, Base: 21000}
			var text strings.Builder
			text.Write(site(c.hdfs()))
			text.Write(site(c.yarn()))
			for n := range c.mode().Nodes {
				text.WriteString(strings.Join(c.nodeArgs(n+1), " "))
			}
			seen := map[int]bool{}
			for _, m := range regexp.MustCompile(`localhost:(\d+)`).FindAllStringSubmatch(text.String(), -1) {
				port, err := strconv.Atoi(m[1])
				again := seen[port] && port != c.Base+zkClient // ZooKeeper's stands in two places
				if err != nil || port < c.Base || port >= c.Base+span || again {
					t.Errorf("port %s: used twice, or not of this cluster", m[1])
				}
				seen[port] = true
			}
			want := 1 + 3 + 5 + 5*len(c.mode().Nodes) // a NameNode's, the DataNode's, a ResourceManager's, the others'
			if c.mode().Pairs {
				want += 3 + 5 + 1 // RPC stands in hdfs-site.xml then; ZooKeeper
			}
			if len(seen) != want {
				t.Errorf("%d ports, want %d", len(seen), want)
			}
		})
	}
}

func TestSiteIsWhatHadoopReads(t *testing.T) {
	want := map[string]string{"a": "1 < 2 & \"three\"", "blank": " ", "root": "/d/*"}
	var got struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(site(want), &got); err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	for _, p := range got.Properties {
		read[p.Name] = p.Value
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsOfTheCallerWin(t *testing.T) {
	const key = "yarn.nm.liveness-monitor.expiry-interval-ms"
	c := &Cluster{Dir: "/d", Mode: "fair", Set: map[string]string{key: "5"}}
	if got := c.yarn()[key]; got != "5" {
		t.Errorf("%s = %q", key, got)
	}
	if got := c.yarn()["yarn.scheduler.fair.allocation.file"]; got != "/d/conf/fair-scheduler.xml" {
		t.Errorf("allocation file = %q: Hadoop looks for a relative one on the class path", got)
	}
}

// The shares of a label, and those of the queues, must add up to all, or the
// ResourceManager does not start.
func TestQueuesShareAll(t *testing.T) {
	for mode, m := range modes {
		if m.Capacity == nil {
			continue
		}
		sums := map[string]int{}
		for key, value := range m.Capacity {
			name, ok := strings.CutSuffix(key, ".capacity")
			if !ok || strings.HasPrefix(name, "root.accessible-node-labels") {
				continue
			}
			share, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			_, label, _ := strings.Cut(name, ".accessible-node-labels.")
			sums[label] += share
		}
		want := map[string]int{"": 100}
		for label := range m.Labels {
			want[label] = 100
		}
		if diff := cmp.Diff(want, sums); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
}

func TestClaimsDoNotMeet(t *testing.T) {
	first, held, err := claim(0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	second, other, err := claim(0)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if second < first+span && first < second+span {
		t.Errorf("bases %d and %d overlap", first, second)
	}
	if _, _, err := claim(first); err == nil {
		t.Errorf("base %d was claimed twice", first)
	}
	// A port that somebody else holds makes its base useless.
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(second+span-1)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if third, again, err := claim(0); err != nil || third == second {
		t.Errorf("claim = %d, %v; want another than %d", third, err, second)
	} else {
		again.Close()
	}
}

func TestADirectoryOfSomebodyElseIsNotEmptied(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thesis.tex")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir}
	if err := c.clear(t.Context()); err == nil || !exists(file) {
		t.Errorf("clear = %v, and the file is there: %v", err, exists(file))
	}
	// Nor is one inside a cluster's.
	if err := (&Cluster{Dir: dir}).save(); err != nil {
		t.Fatal(err)
	}
	inside := &Cluster{Dir: filepath.Join(dir, "conf")}
	if err := os.MkdirAll(inside.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside.Dir, "notes"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := inside.clear(t.Context()); err == nil || !exists(file) {
		t.Errorf("clear of a folder inside = %v, and the file is there: %v", err, exists(file))
	}
}

func TestOpenFindsTheClusterOfAConfiguration(t *testing.T) {
	dir := t.TempDir()
	c := &Cluster{Dir: dir, Mode: "capacity", Base: 21000}
	if err := os.MkdirAll(c.Conf(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{dir, c.Conf()} {
		got, err := Open(place)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got, cmpopts.IgnoreUnexported(Cluster{})); diff != "" {
			t.Errorf("%s: %s", place, diff)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a cluster was found where none is")
	}
}

func TestHalfALineOfAKilledDaemonIsNoClass(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"rm": "# comment\na/B\nc/D\n", "nm1": "c/D\ne/F\na/Half"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := classes([]string{filepath.Join(dir, "rm"), filepath.Join(dir, "nm1")})
	if diff := cmp.Diff([]string{"a/B", "c/D", "e/F"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestDaemonsGetNoSecretsOfTheCaller(t *testing.T) {
	got := harmless([]string{"PATH=/bin", "TOKEN=x", "HADOOP_CONF_DIR=/elsewhere", "LANG=C", "JAVA_TOOL_OPTIONS=-Dx"})
	if want := []string{"PATH=/bin", "LANG=C"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

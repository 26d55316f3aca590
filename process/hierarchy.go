package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is a mounted tree of cgroups: the one of version 2 or one of
// version 1's.
type hierarchy struct {
	mount       string
	root        string   // what of the tree is mounted there; in containers not "/"
	own         string   // the cgroup of this process
	controllers []string // of version 1; nil for version 2
}

// hierarchies reads /proc/self/mountinfo and /proc/self/cgroup.
func hierarchies(mountinfo, cgroup string) []hierarchy {
	own := map[string]string{} // by controller; "" is version 2
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			own[c] = f[2]
		}
	}
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		h := hierarchy{root: l[3], mount: unescape(l[4])}
		switch r[0] {
		case "cgroup2":
			h.own = own[""]
		case "cgroup":
			h.controllers = slices.DeleteFunc(strings.Split(r[2], ","), func(c string) bool { _, ok := own[c]; return !ok || c == "" })
			if len(h.controllers) == 0 {
				continue
			}
			h.own = own[h.controllers[0]]
		default:
			continue
		}
		found = append(found, h)
	}
	return found
}

// unescape undoes mountinfo's octal escapes of white space.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// parent is the directory below which a tree's cgroup may be made, or empty.
func (h hierarchy) parent(named string) string {
	if named != "" {
		return filepath.Join(h.mount, named)
	}
	if h.here() == filepath.Clean(h.mount) {
		return filepath.Join(h.mount, ours)
	}
	return ""
}

// here is the directory of this process's own cgroup.
func (h hierarchy) here() string {
	return filepath.Join(h.mount, strings.TrimPrefix(h.own, strings.TrimSuffix(h.root, "/")))
}

func (h hierarchy) has(controller string) bool { return slices.Contains(h.controllers, controller) }

// mounted is what this machine has.
func mounted() []hierarchy {
	mountinfo, _ := os.ReadFile("/proc/self/mountinfo")
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	return hierarchies(string(mountinfo), string(cgroup))
}

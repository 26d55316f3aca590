package launcher

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-project/muster/spec"
)

// muster chooses hosts itself: what these options say is how many and how large.
const (
	whyHosts    = "muster chooses the hosts"
	whyFile     = "muster writes its own list of hosts"
	whyEndpoint = "muster gives the endpoint"
	whyRank     = "muster gives the ranks"
	whyID       = "muster gives the id"
	whyHidden   = "options in it are not known before it runs"
	whyRemote   = "muster starts the processes itself"
)

// host is one of a list: its name, and processes that it takes; 0 if not said.
type host struct {
	name  string
	slots int
}

// hostList reads h1:2,h2:2. A repeated host adds up.
func hostList(text string) []host {
	var out []host
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, slots := part, 0
		if at := strings.LastIndexByte(part, ':'); at > 0 {
			if n, err := strconv.Atoi(part[at+1:]); err == nil && n > 0 {
				name, slots = part[:at], n
			}
		}
		out = addHost(out, host{name, slots})
	}
	return out
}

func addHost(list []host, h host) []host {
	for i := range list {
		if list[i].name == h.name {
			list[i].slots = max(1, list[i].slots) + max(1, h.slots)
			return list
		}
	}
	return append(list, h)
}

// hostFile reads the lists of hosts that MPI, Horovod and DeepSpeed take: a
// host on each line, with slots=N or :N.
func hostFile(data []byte) ([]host, error) {
	var out []host
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		h := host{name: fields[0]}
		if name, slots, ok := strings.Cut(fields[0], ":"); ok {
			h.name = name
			fields = append(fields, "slots="+slots)
		}
		for _, f := range fields[1:] {
			key, value, ok := strings.Cut(f, "=")
			if !ok || key != "slots" {
				continue // max_slots, binding: the launcher's own
			}
			v, err := strconv.Atoi(value)
			if err != nil || v < 1 {
				return nil, fmt.Errorf("line %d: %s: not a number of slots", n, f)
			}
			h.slots = v
		}
		out = addHost(out, h)
	}
	return out, lines.Err()
}

// hosts takes the number and the size of hosts from a list.
func (r *reader) hosts(g *given, list []host) string {
	switch {
	case len(list) == 0:
		return "names no host"
	case r.chained:
		return ""
	}
	slots, even := 0, true
	for _, h := range list {
		even = even && h.slots == list[0].slots
		slots = max(slots, h.slots)
	}
	if !even {
		r.remark("%s: hosts of different sizes; every task gets the largest, %d", g, slots)
	}
	if r.Instances == (spec.Count{}) {
		r.Instances = spec.Count{Min: len(list), Max: len(list)}
		r.say("instances", g)
	}
	if r.Procs == 0 && slots > 0 {
		r.Procs = slots
		r.say("procs", g)
	}
	return ""
}

// hostsOf is hosts for an option that names a file. A file that cannot be read
// here says nothing; the tasks would not have seen it either.
func (r *reader) hostsOf(g *given) string {
	r.left(g, whyFile)
	if r.file == nil {
		return ""
	}
	data, err := r.file(g.values[0].Text)
	if err != nil {
		r.remark("%s: not read: %v", g, err)
		return ""
	}
	list, err := hostFile(data)
	if err != nil {
		r.remark("%s: %v", g, err)
		return ""
	}
	return r.hosts(g, list)
}

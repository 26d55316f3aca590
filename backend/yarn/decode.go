package yarn

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// fields are the keys of native.yarn and what reads each.
func (s *Settings) fields(d *decoder, p *plan.Plan) map[string]func(any) {
	f := s.RoleSettings.fields(d, p)
	f["max_attempts"] = func(v any) { s.MaxAttempts = int(d.count(v, 1)) }
	f["lifetime"] = func(v any) { s.Lifetime = d.duration(v) }
	f["tags"] = func(v any) { s.Tags = d.tags(v) }
	f["am"] = func(v any) {
		d.object(v, map[string]func(any){
			"memory":     func(v any) { s.Coordinator.Memory = (d.size(v) + mib - 1) / mib },
			"cpus":       func(v any) { s.Coordinator.VCores = d.count(v, 1) },
			"node_label": func(v any) { s.MasterLabel = d.word(v) },
		})
	}
	f["log_aggregation"] = func(v any) {
		d.object(v, map[string]func(any){
			"include": func(v any) { s.LogInclude = d.pattern(v) },
			"exclude": func(v any) { s.LogExclude = d.pattern(v) },
		})
	}
	f["acls"] = func(any) {
		d.refuse("every backend knows who may see and act", "write acls: {view: …, modify: …} at the top level of the job file, or --set acls.view=…")
	}
	f["reservation"] = func(v any) {
		s.Reservation = d.word(v)
		if _, err := parseReservation(s.Reservation); err != nil {
			d.refuse(err.Error(), "")
		}
	}
	f["dir"] = func(v any) { s.Dir = d.directory(v) }
	f["shared_dir"] = func(v any) { s.SharedDir = d.directory(v) }
	f["filesystems"] = func(v any) { s.Filesystems = d.filesystems(v) }
	f["keytab"] = func(v any) { s.Keytab = d.localFile(v) }
	f["principal"] = func(v any) { s.Principal = d.principal(v) }
	f["optional"] = func(v any) { d.boolean(v) } // read by whoever plans for another backend
	f["application_type"] = func(any) {
		d.refuse("muster finds its own applications by their type, "+AppType, "remove it; tags mark applications")
	}
	f["roles"] = func(v any) { s.Roles = d.roles(v, p) }
	return f
}

func (r *RoleSettings) fields(d *decoder, p *plan.Plan) map[string]func(any) {
	return map[string]func(any){
		"node_label": func(v any) { r.NodeLabel = d.word(v) },
		"resources":  func(v any) { r.Resources = d.resources(v) },
		"placement":  func(v any) { r.Placement = d.placement(v, p) },
		"docker": func(v any) {
			d.object(v, map[string]func(any){
				"image":   func(v any) { r.Docker.Image = d.plain(v) },
				"mounts":  func(v any) { r.Docker.Mounts = d.mounts(v) },
				"network": func(v any) { r.Docker.Network = d.plain(v) },
				"client_config": func(v any) {
					r.Docker.ClientConfig = d.plain(v)
					if u, err := url.Parse(r.Docker.ClientConfig); err != nil || !slices.Contains([]string{"hdfs", "file"}, u.Scheme) || !strings.HasPrefix(u.Path, "/") {
						d.refuse(fmt.Sprintf("%q is no file that a node can read", r.Docker.ClientConfig), "write hdfs:///user/YOU/config.json, a file as docker login writes it")
					}
				},
				"delayed_removal": func(v any) { r.Docker.DelayedRemoval = d.boolean(v) },
				"privileged": func(any) {
					d.refuse("a task that may do everything on its node is never asked for", "remove it; what a task needs of the node comes with mounts and network")
				},
			})
		},
	}
}

func (d *decoder) roles(v any, p *plan.Plan) map[string]RoleSettings {
	out := map[string]RoleSettings{}
	names := roleNames(p)
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong("a mapping of roles", v)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		d.in(name, func() {
			if !slices.Contains(names, name) {
				d.refuse("the job has no such role", meant(name, names))
				return
			}
			var r RoleSettings
			d.object(m[name], r.fields(d, p))
			out[name] = r
		})
	}
	return out
}

func roleNames(p *plan.Plan) []string {
	var out []string
	for i := range p.Roles {
		out = append(out, p.Roles[i].Name)
	}
	return out
}

// elsewhere are names of resources that have keys of their own.
var elsewhere = map[string]string{
	nameMemory: "memory", "memory": "memory", nameCores: "cpus", "cpus": "cpus", "cpu": "cpus", GPU: "gpus", "gpu": "gpus", "gpus": "gpus",
}

func (d *decoder) resources(v any) map[string]int64 {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong("a mapping of resource names to counts", v)
		return nil
	}
	out := map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		d.in(name, func() {
			if key, own := elsewhere[name]; own {
				d.refuse("has a key of its own", "write "+key+" for the role, which every backend understands")
				return
			}
			out[name] = d.count(m[name], 0)
		})
	}
	return out
}

func (d *decoder) placement(v any, p *plan.Plan) Placement {
	out := Placement{Scope: scopeNode}
	if word, ok := v.(string); ok {
		out.Kind = d.oneOf(word, placeSpread, placePack)
		return out
	}
	names := roleNames(p)
	d.object(v, map[string]func(any){
		"kind":      func(v any) { out.Kind = d.oneOf(v, placeSpread, placePack) },
		"scope":     func(v any) { out.Scope = d.oneOf(v, scopeNode, scopeRack) },
		"away_from": func(v any) { out.Away = d.known(d.words(v), names) },
		"with":      func(v any) { out.Together = d.known(d.words(v), names) },
	})
	for _, r := range out.Away {
		if slices.Contains(out.Together, r) {
			d.refuse(fmt.Sprintf("%s is named by away_from and by with", r), "keep one of them")
		}
	}
	return out
}

// known keeps the words that are roles.
func (d *decoder) known(words, names []string) []string {
	for _, w := range words {
		if !slices.Contains(names, w) {
			d.refuse(fmt.Sprintf("%q is no role of the job", w), meant(w, names))
		}
	}
	return words
}

var mountText = regexp.MustCompile(`^/[^:,]*:/[^:,]*:r[ow]$`)

func (d *decoder) mounts(v any) []string {
	words := d.words(v)
	for i, w := range words {
		w = d.plain(w)
		if strings.Count(w, ":") == 1 {
			words[i] = w + ":ro"
		}
		if !mountText.MatchString(words[i]) {
			d.refuse(fmt.Sprintf("%q is not a mount", w), "write /on/the/node:/in/the/container:ro, or :rw at the end")
		}
	}
	return words
}

// maxTags and maxTag are YARN's limits; three of the tags are muster's own.
const (
	maxTags = 10 - 3
	maxTag  = 100
)

func (d *decoder) tags(v any) []string {
	words := d.words(v)
	if len(words) > maxTags {
		d.refuse(fmt.Sprintf("%d tags, YARN takes at most %d beside muster's own three", len(words), maxTags), "")
	}
	for i, w := range words {
		if len(w) > maxTag || strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r > '~' }) {
			d.refuse(fmt.Sprintf("%q is not a tag: at most %d printable ASCII characters", w, maxTag), "")
		}
		if slices.ContainsFunc([]string{Tag(""), TicketTag(""), PartitionTag(nil)}, func(own string) bool {
			return strings.HasPrefix(strings.ToLower(w), own)
		}) {
			d.refuse(fmt.Sprintf("%q is a tag of muster's own", w), "choose one that begins differently")
		}
		words[i] = strings.ToLower(w) // the resource manager does so too
	}
	return words
}

func (d *decoder) pattern(v any) string {
	text := d.text(v)
	if _, err := regexp.Compile(text); err != nil {
		d.refuse(fmt.Sprintf("%q is not a regular expression", text), "")
	}
	return text
}

func (d *decoder) directory(v any) string {
	text := d.word(v)
	if text != "" && (!strings.HasPrefix(text, "/") || text == "/") {
		d.refuse(fmt.Sprintf("%q is not an absolute path on the cluster's default file system", text), "write it as in /user/me/.muster, without a scheme")
	}
	return strings.TrimRight(text, "/")
}

func (d *decoder) filesystems(v any) []string {
	words := d.words(v)
	for _, w := range words {
		if u, err := url.Parse(w); err != nil || u.Scheme != "hdfs" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			d.refuse(fmt.Sprintf("%q is not the address of an HDFS", w), "write hdfs://NAMENODE:PORT, or hdfs://NAME with a name from dfs.nameservices")
		}
	}
	return words
}

// localFile reads the path of a file on the submitting machine. Whoever submits
// a job again may stand in another directory.
func (d *decoder) localFile(v any) string {
	text := d.text(v)
	if text != "" && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~/") {
		d.refuse(fmt.Sprintf("%q is not a whole path", text), "begin it with / or ~/")
	}
	return text
}

// principal reads a Kerberos name.
func (d *decoder) principal(v any) string {
	s := d.word(v)
	if name, realm, ok := strings.Cut(s, "@"); s != "" && (!ok || name == "" || realm == "") {
		d.refuse(fmt.Sprintf("%q is not a whole principal", s), "write NAME@REALM, as klist -kt KEYTAB shows it")
	}
	return s
}

func (d *decoder) duration(v any) time.Duration {
	text, ok := v.(string)
	if !ok {
		d.wrong("a duration such as 12h", v)
		return 0
	}
	var out spec.Duration
	if err := out.UnmarshalText([]byte(text)); err != nil {
		d.refuse(err.Error(), "")
	}
	if out > 0 && time.Duration(out) < time.Second {
		d.refuse(text+" is less than the second that YARN counts in", "")
	}
	return time.Duration(out)
}

func (d *decoder) size(v any) int64 {
	text, ok := v.(string)
	if !ok {
		d.wrong("a size such as 512MiB", v)
		return 0
	}
	n, err := spec.ParseSize(text)
	if err != nil {
		d.refuse(err.Error(), "")
	}
	if err == nil && n <= 0 {
		d.refuse("must be more than 0", "")
	}
	return int64(n)
}

func (d *decoder) count(v any, least int64) int64 {
	n, ok := integer(v)
	switch {
	case !ok:
		d.wrong("a whole number", v)
	case n < least:
		d.refuse(fmt.Sprintf("%d is less than %d", n, least), "")
	case n > math.MaxInt32:
		d.refuse(fmt.Sprintf("%d is more than any cluster has", n), "")
	}
	return n
}

// integer reads the kinds of numbers that YAML and JSON give.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		return i, err == nil
	}
	return 0, false
}

package yarn

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/muster-project/muster/plan"
)

// Settings are what stands under native.yarn, every default filled.
type Settings struct {
	RoleSettings               // of every role that does not say otherwise
	MaxAttempts  int           // coordinators, one after the other
	Lifetime     time.Duration // 0 for none
	Tags         []string      // beside muster's own
	Coordinator  Size          // of the coordinator's container
	MasterLabel  string        // node label of the coordinator's container
	LogInclude   string        // regular expressions of file names for YARN's log aggregation
	LogExclude   string
	Reservation  string   // reservation id, as YARN prints it
	Dir          string   // of muster's files of this user; empty for the default
	SharedDir    string   // of all users' tickets; empty for the default
	Filesystems  []string // hdfs://… beside the default one, whose tokens the job gets
	Keytab       string   // local path of the coordinator's keytab; empty for none
	Principal    string   // whose keys are in it
	Roles        map[string]RoleSettings
}

// RoleSettings are what a role may say by itself.
type RoleSettings struct {
	NodeLabel string
	Resources map[string]int64 // by YARN's name, beside memory, vcores and yarn.io/gpu
	Placement Placement
	Docker    Docker
}

// Placement is where the tasks of a role stand to each other and to others.
type Placement struct {
	Kind     string   // "", "spread" (one on a node, or on a rack) or "pack" (on as few nodes as fit)
	Scope    string   // node or rack
	Away     []string // roles that must not share a node or rack with this one
	Together []string // roles that must share it
}

// Constrained says that tasks may not stand just anywhere. Packing alone is a
// wish.
func (p Placement) Constrained() bool {
	return p.Kind == placeSpread || len(p.Away)+len(p.Together) > 0
}

// The kinds and scopes of placement.
const (
	placeSpread = "spread"
	placePack   = "pack"
	scopeNode   = "node"
	scopeRack   = "rack"
)

// Docker is the container image of a role.
type Docker struct {
	Image   string
	Mounts  []string // source:target:ro or :rw
	Network string
	// ClientConfig is a file with which nodes log in to the image's registry.
	ClientConfig string
	// DelayedRemoval leaves ended containers to look at, where nodes allow it.
	DelayedRemoval bool
}

// Defaults of settings.
const (
	defaultAttempts = 10
	coordinatorMiB  = 256
)

// Role gives the settings of one role, with those of the job where it has none.
func (s *Settings) Role(name string) RoleSettings {
	r := s.RoleSettings
	own, ok := s.Roles[name]
	if !ok {
		return r
	}
	if own.NodeLabel != "" {
		r.NodeLabel = own.NodeLabel
	}
	if len(own.Resources) > 0 {
		r.Resources = maps.Clone(r.Resources)
		if r.Resources == nil {
			r.Resources = map[string]int64{}
		}
		maps.Copy(r.Resources, own.Resources)
	}
	if own.Placement.Kind != "" || own.Placement.Constrained() {
		r.Placement = own.Placement
	}
	if own.Docker.Image != "" {
		r.Docker.Image = own.Docker.Image
	}
	if len(own.Docker.Mounts) > 0 {
		r.Docker.Mounts = own.Docker.Mounts
	}
	if own.Docker.Network != "" {
		r.Docker.Network = own.Docker.Network
	}
	r.Docker.ClientConfig = cmp.Or(own.Docker.ClientConfig, r.Docker.ClientConfig)
	r.Docker.DelayedRemoval = own.Docker.DelayedRemoval || r.Docker.DelayedRemoval
	return r
}

// Partitions are the node labels that a plan's tasks ask for, sorted; "" is the
// partition without a label.
func (s *Settings) Partitions(p *plan.Plan) []string {
	var out []string
	for i := range p.Roles {
		if l := s.Role(p.Roles[i].Name).NodeLabel; !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

// Decode reads native.yarn of a plan. All that is wrong with it comes back at
// once; the settings are then only good for looking on.
func Decode(p *plan.Plan) (*Settings, []plan.Finding) {
	s := &Settings{MaxAttempts: defaultAttempts, Coordinator: Size{Memory: coordinatorMiB, VCores: 1}}
	d := &decoder{path: []string{"native", "yarn"}}
	value, written := p.Native[Name]
	if !written || value == nil {
		s.images(p)
		return s, nil
	}
	d.object(value, s.fields(d, p))
	if (s.Keytab == "") != (s.Principal == "") {
		d.refuse("keytab and principal go together: the one holds the keys of the other", "write both, or neither")
	}
	s.images(p)
	return s, d.findings
}

// images lets image in a role mean its Docker image.
func (s *Settings) images(p *plan.Plan) {
	for i := range p.Roles {
		r := &p.Roles[i]
		if r.Image == "" {
			continue
		}
		if s.Roles == nil {
			s.Roles = map[string]RoleSettings{}
		}
		own := s.Roles[r.Name]
		if own.Docker.Image == "" {
			own.Docker.Image = r.Image
			s.Roles[r.Name] = own
		}
	}
}

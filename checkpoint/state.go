package checkpoint

import (
	"cmp"
	"slices"
	"time"
)

// Entry is one version of one file.
type Entry struct {
	Path    string    `json:"path"` // below the directory, with slashes
	Version int64     `json:"version"`
	Gone    bool      `json:"gone,omitempty"` // it was removed
	Blob    string    `json:"blob,omitempty"`
	Link    string    `json:"link,omitempty"` // target of a symbolic link, which has no blob
	Size    int64     `json:"size,omitempty"`
	Mode    uint32    `json:"mode,omitempty"`
	Time    time.Time `json:"time,omitzero"` // its modification
}

// Manifest is what one task has written in all its lives.
type Manifest struct {
	Task    string  `json:"task"`
	Number  int     `json:"number"`
	Entries []Entry `json:"entries"`
}

// merge gives the version of each path that holds for everybody.
func merge(all []Manifest) map[string]Entry {
	slices.SortFunc(all, func(a, b Manifest) int { return cmp.Compare(a.Task, b.Task) })
	out := map[string]Entry{}
	for _, m := range all {
		for _, e := range m.Entries {
			if have, ok := out[e.Path]; !ok || e.Version >= have.Version {
				out[e.Path] = e
			}
		}
	}
	return out
}

// seen is how a file looks from outside; equal ones are taken for the same.
type seen struct {
	Size int64
	Mode uint32
	Time time.Time
	Link string
}

// file is what is known of a local file: how it looked when it was last equal to
// a version, and how it looked at the last look.
type file struct {
	version int64
	synced  seen
	looked  seen
	here    bool // it was there at the last look
}

// plan says what one look leads to.
type plan struct {
	publish []string // have changed here
	forget  []string // are gone here
	fetch   []Entry  // others have changed, older first
	remove  []string // others have removed
}

// decide compares the local files, as they look now, with what is known and what
// holds for everybody. settled says that a change need not be confirmed by a
// second look. Local changes win over what others published meanwhile: they get
// the higher version.
func decide(now map[string]seen, known map[string]file, merged map[string]Entry, settled bool) plan {
	var p plan
	for path, s := range now {
		k, old := known[path]
		changed := !old || !k.here || k.synced != s
		switch {
		case changed && (settled || old && k.looked == s):
			p.publish = append(p.publish, path)
		case !changed && merged[path].Version > k.version:
			p.take(merged[path])
		}
	}
	for path, e := range merged {
		if _, here := now[path]; here {
			continue
		}
		switch k := known[path]; {
		case k.here && k.version >= e.Version && !e.Gone: // was here and equal, is not any more
			p.forget = append(p.forget, path)
		case e.Version > k.version && !e.Gone:
			p.fetch = append(p.fetch, e)
		}
	}
	slices.Sort(p.publish)
	slices.Sort(p.forget)
	slices.Sort(p.remove)
	slices.SortFunc(p.fetch, func(a, b Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Path, b.Path)) })
	return p
}

func (p *plan) take(e Entry) {
	if e.Gone {
		p.remove = append(p.remove, e.Path)
		return
	}
	p.fetch = append(p.fetch, e)
}

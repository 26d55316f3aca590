package python

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lockPackage is one package of a pylock.toml (PEP 751), as far as an installer
// of requirements can be told.
type lockPackage struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Marker  string       `json:"marker"`
	Wheels  []lockedFile `json:"wheels"`
	Sdist   *lockedFile  `json:"sdist"`
	Archive *lockedFile  `json:"archive"`
	VCS     *struct {
		Type   string `json:"type"`
		URL    string `json:"url"`
		Commit string `json:"commit-id"`
	} `json:"vcs"`
	Directory *struct {
		Path string `json:"path"`
	} `json:"directory"`
}

type lockedFile struct {
	URL    string            `json:"url"`
	Path   string            `json:"path"`
	Hashes map[string]string `json:"hashes"`
}

// locked writes the packages of a lock as requirements, with hashes where all of
// them have some: an installer that sees one hash wants one of each.
func locked(list []lockPackage) ([]string, error) {
	var out []string
	var wrong []error
	all := !slices.ContainsFunc(list, func(p lockPackage) bool { return len(p.hashes()) == 0 })
	for _, p := range list {
		if strings.Contains(p.Marker, "dependency_groups") || strings.Contains(p.Marker, " extras") {
			continue // of a choice that nobody made here
		}
		line, err := p.line()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", p.Name, err))
			continue
		}
		if p.Marker != "" {
			line += " ; " + p.Marker
		}
		if all {
			for _, h := range p.hashes() {
				line += " --hash=" + h
			}
		}
		out = append(out, line)
	}
	return out, errors.Join(wrong...)
}

func (p lockPackage) line() (string, error) {
	switch {
	case p.Directory != nil:
		return "./" + strings.TrimPrefix(p.Directory.Path, "./"), nil
	case p.VCS != nil && p.VCS.URL != "" && p.VCS.Commit != "":
		return fmt.Sprintf("%s @ %s+%s@%s", p.Name, p.VCS.Type, p.VCS.URL, p.VCS.Commit), nil
	case p.Archive != nil && p.Archive.URL != "":
		return p.Name + " @ " + p.Archive.URL, nil
	case p.Archive != nil && p.Archive.Path != "":
		return "./" + strings.TrimPrefix(p.Archive.Path, "./"), nil
	case p.Version != "":
		return p.Name + "==" + p.Version, nil
	}
	return "", errors.New("the lock says neither its version nor where it lies")
}

// hashes are those of all files that may be installed.
func (p lockPackage) hashes() []string {
	files := slices.Clone(p.Wheels)
	for _, f := range []*lockedFile{p.Sdist, p.Archive} {
		if f != nil {
			files = append(files, *f)
		}
	}
	seen := map[string]bool{}
	for _, f := range files {
		for name, sum := range f.Hashes {
			seen[name+":"+sum] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

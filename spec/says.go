package spec

import "slices"

// Says tells whether the job file or a flag holds a value at a path, or below
// it; defaults of the site and of the user do not count.
func (s *Stack) Says(path string) bool {
	keys := splitPath(path)
	if s.job != nil {
		if _, exact := s.job.locate(keys); exact {
			return true
		}
	}
	for _, f := range s.flags {
		n := min(len(f.keys), len(keys))
		if !slices.Equal(f.keys[:n], keys[:n]) {
			continue
		}
		if n == len(keys) {
			return true
		}
		if _, exact := f.value.locate(keys[n:]); exact {
			return true
		}
	}
	return false
}

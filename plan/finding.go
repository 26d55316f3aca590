package plan

import "strings"

// String is a finding on one line, its hint on the next.
func (f Finding) String() string {
	s := f.Problem
	if f.Path != "" {
		s = f.Path + ": " + s
	}
	if f.Hint != "" {
		s += "\n    " + f.Hint
	}
	return s
}

// Refusal is every reason why a job cannot be planned, or cannot run where it
// should. Findings holds no warnings.
type Refusal struct{ Findings []Finding }

// Error prints one finding a line, hints indented below theirs.
func (r *Refusal) Error() string {
	lines := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Refuse makes a Refusal of those findings that are more than warnings, and
// nil if there are none.
func Refuse(findings []Finding) error {
	var bad []Finding
	for _, f := range findings {
		if !f.Warning {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &Refusal{Findings: bad}
}

package launcher

import (
	"strings"

	"github.com/muster-project/muster/spec/command"
)

// use is what becomes of an option.
type use int

const (
	keep use = iota // stays in the line
	take            // its meaning goes into the job
	drop            // muster gives what it would: named, with the reason
)

// option is one option of a launcher. Names of a taken option are spellings
// of one thing, the first is the one that the code asks for; names of others
// may be a group that is treated alike.
type option struct {
	names  string // "--nproc-per-node -np"; dashes inside names also match underscores
	values int    // words that belong to it
	use    use
	why    string // for drop
}

// table is all that a launcher takes.
type table struct {
	options []option
	short   bool // a name may be cut short as long as it is unambiguous, as argparse allows
	one     bool // one dash or two mean the same, as for mpirun
	chain   bool // ":" begins the options of another program
}

// given is an option as it stands in a line.
type given struct {
	*option        // nil: unknown to us
	name    string // as written, without a value
	match   string // the table's spelling of it
	values  []command.Word
	joined  bool // --name=value
	words   []command.Word
	stays   bool   // in the line, whatever the table says
	guess   string // what there is to say of an option that the table does not have
}

func (g *given) first() string {
	first, _, _ := strings.Cut(g.names, " ")
	return first
}

// known says that all values can be told before anything runs.
func (g *given) known() bool {
	for _, v := range g.values {
		if !v.Known {
			return false
		}
	}
	return true
}

// String is the option as its author wrote it, its value behind a blank or =.
func (g *given) String() string {
	parts := make([]string, len(g.words))
	for i, w := range g.words {
		parts[i] = w.String()
	}
	return strings.Join(parts, " ")
}

// key makes spellings of one name equal.
func (t *table) key(name string) string {
	body := strings.TrimLeft(name, "-")
	dashes := len(name) - len(body)
	if t.one && dashes > 0 {
		dashes = 1
	}
	if len(body) == 1 {
		return "-"[:min(1, dashes)] + body
	}
	return strings.Repeat("-", dashes) + strings.ReplaceAll(body, "_", "-")
}

// lookup finds an option by a name as written, and the table's spelling of it.
func (t *table) lookup(name string) (*option, string) {
	key := t.key(name)
	var near *option
	var spelling string
	matches := map[string]bool{}
	for i := range t.options {
		for n := range strings.FieldsSeq(t.options[i].names) {
			switch k := t.key(n); {
			case k == key:
				return &t.options[i], n
			case t.short && strings.HasPrefix(key, "--") && len(key) > 3 && strings.HasPrefix(k, key):
				near, spelling = &t.options[i], n
				matches[k] = true
			}
		}
	}
	if len(matches) == 1 {
		return near, spelling
	}
	return nil, ""
}

// hasRaw says that the text of a shell begins with --name= of an option that
// has a value.
func (t *table) hasRaw(text string) bool {
	name, _, joined := strings.Cut(text, "=")
	if !joined || !strings.HasPrefix(name, "-") || strings.ContainsAny(name, "$`\"'\\ ") {
		return false
	}
	o, _ := t.lookup(name)
	return o != nil && o.values == 1
}

// has says that the table knows an option, with or without a value behind =.
func (t *table) has(w command.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	o, _ := t.lookup(name)
	return o != nil
}

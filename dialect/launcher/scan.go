package launcher

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-project/muster/spec/command"
)

// reader is a line being read: its words taken apart, and the reading that
// grows out of them.
type reader struct {
	*Reading
	head    []command.Word // up to the launcher's own name
	given   []*given       // its options, in order
	tail    []command.Word // the program and what belongs to it
	extra   []command.Word // options that take the place of others
	table   table
	file    File
	alone   string // why the line is left as it is
	gone    bool   // the launcher does not run: its options end here
	hidden  string // a word that may hold options or be the program
	chained bool   // one of several programs of mpirun
}

// scan takes a line's options from the program behind them.
func (r *reader) scan(words []command.Word) {
	t := &r.table
	for len(words) > 0 {
		w := words[0]
		switch {
		case !w.Known && t.hasRaw(w.Raw):
			// --name=$VALUE
			name, value, _ := strings.Cut(w.Raw, "=")
			o, match := t.lookup(name)
			r.given = append(r.given, &given{option: o, name: name, match: match, joined: true, values: []command.Word{command.ShellWord(value)}, words: words[:1]})
			words = words[1:]
		case !w.Known:
			if len(words) < 2 || !isOption(words[1]) || !t.has(words[1]) {
				r.unknowable(w, words[1:])
				r.tail = words
				return
			}
			r.given = append(r.given, &given{name: w.Raw, words: words[:1], stays: true, guess: whyHidden})
			words = words[1:]
		case w.Text == "--", !isOption(w):
			r.tail = words
			return
		default:
			g, rest := r.one(t, words)
			r.given = append(r.given, g)
			words = rest
		}
	}
}

// unknowable keeps a word in mind that stands where options or the program
// would, before one that could be the program.
func (r *reader) unknowable(w command.Word, after []command.Word) {
	if len(after) > 0 && after[0].Known && !strings.HasPrefix(after[0].Text, "-") {
		r.hidden = w.Raw + ": " + whyHidden
	}
}

func isOption(w command.Word) bool { return w.Known && len(w.Text) > 1 && w.Text[0] == '-' }

// one takes an option and its values from the front of a line.
func (r *reader) one(t *table, words []command.Word) (*given, []command.Word) {
	text := words[0].Text
	name, value, joined := strings.Cut(text, "=")
	o, match := t.lookup(name)
	if o == nil && !strings.HasPrefix(text, "--") && len(text) > 2 && !t.one {
		// -r3, a short option with its value
		if short, _ := t.lookup(text[:2]); short != nil && short.values == 1 {
			return &given{option: short, name: text[:2], values: command.Literals(text[2:]), joined: true, words: words[:1]}, words[1:]
		}
	}
	g := &given{option: o, name: name, match: match, joined: joined}
	n := 0
	switch {
	case o == nil:
		g.stays = true
		n, g.guess = guess(t, joined, words[1:])
	case joined && !t.one:
		g.values = command.Literals(value)
	case o.values > 0 && joined: // mpirun takes --name=value, too
		g.values = command.Literals(value)
		n = o.values - 1
	default:
		n = o.values
	}
	n = min(n, len(words)-1)
	if o != nil {
		g.values = append(g.values, words[1:1+n]...)
	}
	g.words = words[:1+n]
	return g, words[1+n:]
}

// guess says how many words belong to an option that is not in the table, and
// what there is to say about it.
func guess(t *table, joined bool, after []command.Word) (int, string) {
	const unknown = "an option that muster does not know"
	if joined || len(after) == 0 || isOption(after[0]) {
		return 0, unknown
	}
	_, err := strconv.ParseFloat(after[0].Text, 64)
	script := strings.HasSuffix(after[0].Text, ".py") || strings.HasSuffix(after[0].Text, ".sh")
	if err == nil || !script && len(after) > 1 && isOption(after[1]) && t.has(after[1]) {
		return 1, fmt.Sprintf("%s; %s is taken for its value", unknown, after[0])
	}
	return 0, fmt.Sprintf("%s; it is taken for a switch, and %s for the program", unknown, after[0])
}

func (r *reader) remark(format string, args ...any) {
	r.Remarks = append(r.Remarks, fmt.Sprintf(format, args...))
}

// options are the launcher's options that remain in the line.
func (r *reader) options() []command.Word {
	out := append([]command.Word{}, r.extra...)
	for _, g := range r.given {
		if g.stays || g.option != nil && g.use == keep {
			out = append(out, g.words...)
		}
	}
	return out
}

// taken goes through the options that mean something for the job, and names
// those whose place muster takes. do returns why it could not take one.
func (r *reader) taken(do func(g *given) (why string)) {
	switch {
	case r.hidden != "" && r.gone:
		r.alone = r.hidden // nobody could tell them from the program
	case r.hidden != "":
		r.remark("%s; it is left to %s", r.hidden, r.Launcher)
	}
	for _, g := range r.given {
		switch {
		case g.option == nil:
			r.untaken(g, g.guess)
		case g.stays || g.use == keep:
		case g.use == drop:
			r.left(g, g.why)
		case len(g.values) < g.option.values:
			r.untaken(g, "its value is missing")
		case !g.known():
			r.untaken(g, "its value is not known before it runs")
		default:
			if why := do(g); why != "" {
				r.untaken(g, why)
			}
		}
	}
}

// untaken leaves an option to the launcher, if that runs.
func (r *reader) untaken(g *given, why string) {
	if r.gone {
		r.left(g, why)
		return
	}
	g.stays = true
	r.remark("%s: %s; it is left to %s", g, why, r.Launcher)
}

func (r *reader) left(g *given, why string) {
	r.Left = append(r.Left, Left{Option: g.String(), Why: why})
}

// number reads a count of at least 1 into to.
func number(g *given, to *int) string {
	n, err := strconv.Atoi(g.values[0].Text)
	if err != nil || n < 1 || n > 1<<20 {
		return "not a number from 1"
	}
	*to = n
	return ""
}

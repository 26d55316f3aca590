package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/event"
)

// stderrLines is how many of a failed task's last lines the verdict shows.
const stderrLines = 10

// verdictLines is the verdict on a job that did not succeed: which task failed
// first, how, with which status, and the last it said.
func verdictLines(o event.Outcome) []string {
	var out []string
	out = append(out, verdictHead(o))
	detail := fmt.Sprintf("exit status %d", o.Status)
	if o.Origin != "" {
		detail += " (origin: " + o.Origin + ")"
	}
	if o.Class != "" {
		detail = "class " + string(o.Class) + ", " + detail
	}
	if !o.Task.IsZero() {
		detail = "first failure " + o.Task.String() + ", " + detail
	}
	out = append(out, detail)
	if o.Exit != nil && len(o.Exit.Stderr) > 0 {
		lines := o.Exit.Stderr[max(0, len(o.Exit.Stderr)-stderrLines):]
		out = append(out, "last lines of its standard error:")
		for _, l := range lines {
			out = append(out, "  "+printable([]byte(l)))
		}
	}
	if o.Hint != "" {
		for l := range strings.SplitSeq(o.Hint, "\n") {
			out = append(out, "hint: "+l)
		}
	}
	return out
}

// verdictHead is the verdict in one line. The coordinator's sentence may begin
// with the state's own word.
func verdictHead(o event.Outcome) string {
	state := strings.ReplaceAll(string(o.State), "-", " ")
	switch {
	case strings.HasPrefix(o.Text, state):
		return o.Text
	case o.Text != "":
		return state + ": " + o.Text
	case !o.Task.IsZero():
		return state + ": " + o.Task.String()
	}
	return state
}

func joined(words []string) string { return strings.Join(words, ",") }

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func portList(ports map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		words = append(words, fmt.Sprintf("%s=%d", name, ports[name]))
	}
	return strings.Join(words, ",")
}

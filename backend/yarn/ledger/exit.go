package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/muster-project/muster/event"
)

// Exit statuses that are YARN's own words.
const (
	exitInvalid    = -1000 // it never got as far as running
	exitAborted    = -100  // released, expired, or its node was lost
	exitDisks      = -101
	exitPreempted  = -102
	exitVirtual    = -103
	exitPhysical   = -104
	exitByMaster   = -105
	exitByManager  = -106
	exitAfterApp   = -107
	exitByNode     = -108
	exitLogs       = -109
	exitSignal     = 128 // and a signal's number
	statusKilled   = 137
	statusTerm     = 143
	reasonLongest  = 600
	notStartedCode = 126
)

// verdict is what the end of a container means.
type verdict struct {
	class     event.Class
	reason    string // a sentence with its numbers
	status    int    // of its task
	blameless bool   // nothing that ran in it did anything wrong
	node      guilt
}

// guilt is what an end says of its node.
type guilt int

const (
	innocent guilt = iota
	suspect        // once is nothing
	ill            // it is no place to be until it is well
)

// judge turns the end of a container into a verdict.
func (l *Ledger) judge(b *box, s Status) verdict {
	name, text := b.slot.Node, brief(s.Text)
	low := strings.ToLower(s.Text)
	// Whom a node asks to end before it kills ends with a status of its own, which
	// is then all that is left of the node's: what the node says still tells.
	switch {
	case s.Exit == exitPhysical, s.Exit == exitVirtual, overText.MatchString(s.Text):
		return verdict{class: event.ClassMemory, reason: l.overMemory(b, s), status: statusKilled}
	case sentText.MatchString(s.Text):
		m := sentText.FindStringSubmatch(s.Text)
		return verdict{class: event.ClassLost, status: statusKilled, reason: "somebody who may, its owner or an administrator, had YARN send " + m[2] + " to its container on " + name + " (" + m[1] + ")"}
	}
	switch s.Exit {
	case exitPreempted:
		return verdict{class: event.ClassPreempted, reason: "YARN preempted it on " + name + after(text), status: statusTerm, blameless: true}
	case exitByNode:
		return verdict{class: event.ClassPreempted, reason: "the node " + name + " ended it for containers that matter more" + after(text), status: statusTerm, blameless: true}
	case exitDisks:
		return verdict{class: event.ClassLost, reason: "the disks of " + name + " failed" + after(text), status: statusKilled, blameless: true, node: ill}
	case exitAborted:
		switch {
		case b.phase <= starting && strings.Contains(low, "expired"):
			return verdict{class: event.ClassLost, reason: "nothing ran in it on " + name + " in time, and YARN took it back", blameless: true}
		case strings.Contains(low, "lost"):
			v := verdict{class: event.ClassLost, reason: l.away(name), status: statusKilled, blameless: true}
			if l.nodes[name].condition != Leaving {
				v.node = ill
			}
			return v
		}
		return verdict{class: event.ClassLost, reason: "YARN ended it, or lost its node " + name + after(text), status: statusKilled, blameless: true}
	case exitByMaster:
		return verdict{class: event.ClassCancelled, reason: "it was ended by its coordinator", status: statusTerm}
	case exitByManager:
		return l.byManager(name, text, low)
	case exitAfterApp:
		return verdict{class: event.ClassCancelled, reason: "its application had ended" + after(text), status: statusTerm}
	case exitLogs:
		return verdict{class: event.ClassExit, reason: "its logs grew over the limit of " + name + after(text), status: statusKilled}
	case exitInvalid:
		return verdict{class: event.ClassPrepare, reason: "its files could not be brought to " + name + after(text), status: notStartedCode}
	}
	switch {
	case s.Exit == 0:
		return verdict{class: event.ClassLost, reason: "its executor ended by itself"}
	case s.Exit == statusKilled:
		return verdict{class: event.ClassLost, status: s.Exit, node: suspect,
			reason: "its executor on " + name + " was killed (SIGKILL), by hand or by the kernel for want of memory" + after(text)}
	case s.Exit > exitSignal && s.Exit < exitSignal+65:
		return verdict{class: event.ClassLost, status: s.Exit, node: suspect,
			reason: fmt.Sprintf("its executor on %s was ended by %s%s", name, signalName(s.Exit-exitSignal), after(text))}
	}
	return verdict{class: event.ClassLost, status: s.Exit, node: suspect, reason: fmt.Sprintf("its executor on %s ended with %d%s", name, s.Exit, after(text))}
}

// overMemory says by how much, as far as the node told.
func (l *Ledger) overMemory(b *box, s Status) string {
	kind := "memory"
	virtual := s.Exit == exitVirtual || strings.Contains(s.Text, "beyond the 'VIRTUAL'")
	if virtual {
		kind = "virtual memory"
	}
	if used, limit := usage(s.Text, virtual); used != "" {
		return fmt.Sprintf("YARN killed it on %s: %s of %s of %s were used", b.slot.Node, used, limit, kind)
	}
	return fmt.Sprintf("YARN killed it on %s over its limit of %d MiB of %s%s", b.slot.Node, b.size["memory-mb"], kind, after(brief(s.Text)))
}

// byManager is a container that the resource manager wanted gone: somebody else's
// decision, which is none about the job, except where a person made it.
func (l *Ledger) byManager(name, text, low string) verdict {
	switch {
	case strings.Contains(low, "label") || strings.Contains(low, "partition"):
		return verdict{class: event.ClassLost, reason: "the label of its node " + name + " was changed, and YARN ended what ran there" + after(text), status: statusKilled, blameless: true}
	case l.nodes[name].condition != Well:
		return verdict{class: event.ClassLost, reason: l.away(name) + after(text), status: statusKilled, blameless: true, node: ill}
	}
	return verdict{class: event.ClassLost, reason: "the resource manager ended it on " + name + after(text), status: statusKilled, blameless: true}
}

// signals that containers are seen to end by, by number.
var signals = map[int]string{6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}

func signalName(n int) string {
	if name, ok := signals[n]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

// overText is how a node says that it kills a container over its memory, and
// sentText how it says that somebody had it send a signal.
var (
	overText = regexp.MustCompile(`is running \d+B beyond the '(PHYSICAL|VIRTUAL)' memory limit`)
	sentText = regexp.MustCompile(`Sent signal (\w+) \((SIG\w+)\) to pid \d+ as user `)
)

// usageText is how a node says why it killed a container over its memory.
var usageText = regexp.MustCompile(`Current usage: ([0-9.]+ ?[KMGT]?B) of ([0-9.]+ ?[KMGT]?B) physical memory used; ([0-9.]+ ?[KMGT]?B) of ([0-9.]+ ?[KMGT]?B) virtual memory used`)

func usage(text string, virtual bool) (used, limit string) {
	m := usageText.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", ""
	case virtual:
		return m[3], m[4]
	}
	return m[1], m[2]
}

// brief is the part of YARN's diagnostics that is worth reading: without times,
// Java's stack traces, and what it says of every container, on one line.
func brief(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(stamp.ReplaceAllString(strings.TrimSpace(line), ""))
		if line == "" || slices.ContainsFunc(noise, func(p string) bool { return strings.HasPrefix(line, p) }) || slices.Contains(out, line) {
			continue
		}
		out = append(out, line)
	}
	s := strings.Join(out, " ")
	if len(s) > reasonLongest {
		s = strings.ToValidUTF8(s[:reasonLongest], "") + " …"
	}
	return s
}

// stamp is the time that nodes put before what they say.
var stamp = regexp.MustCompile(`^\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.,]+\]`)

// noise are the beginnings of lines that say nothing of this container.
var noise = []string{
	"at ", "... ", "For more detailed output", "Dump of the process-tree", "|- ", "Exception from container-launch",
	"Container id:", "Exit code:", "Error file:", "Last 4096 bytes of", "Container exited with a non-zero exit code",
	"Container killed on request", "Killed by external signal", "java.io.", "Shell error output: Nonzero exit code",
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

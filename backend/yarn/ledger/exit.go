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

// judge turns the end of a container into a class, a sentence with its numbers,
// and the status of its task.
func (l *Ledger) judge(b *box, s Status) (event.Class, string, int) {
	node, text := b.slot.Node, brief(s.Text)
	switch s.Exit {
	case exitPhysical, exitVirtual:
		kind := "memory"
		if s.Exit == exitVirtual {
			kind = "virtual memory"
		}
		if used, limit := usage(s.Text, s.Exit == exitVirtual); used != "" {
			return event.ClassMemory, fmt.Sprintf("YARN killed it on %s: %s of %s of %s were used", node, used, limit, kind), statusKilled
		}
		return event.ClassMemory, fmt.Sprintf("YARN killed it on %s over its limit of %d MiB of %s%s", node, b.size["memory-mb"], kind, after(text)), statusKilled
	case exitPreempted:
		return event.ClassPreempted, "YARN preempted it on " + node + after(text), statusTerm
	case exitByNode:
		return event.ClassPreempted, "the node " + node + " ended it for containers that matter more" + after(text), statusTerm
	case exitDisks:
		return event.ClassLost, "the disks of " + node + " failed" + after(text), statusKilled
	case exitAborted:
		switch low := strings.ToLower(s.Text); {
		case b.phase == granted && strings.Contains(low, "expired"):
			return event.ClassLost, "nothing was started in it in time, and YARN took it back", 0
		case strings.Contains(low, "lost"):
			return event.ClassLost, "its node " + node + " was lost", statusKilled
		}
		return event.ClassLost, "YARN ended it, or lost its node " + node + after(text), statusKilled
	case exitByMaster:
		return event.ClassCancelled, "it was ended by its coordinator", statusTerm
	case exitByManager:
		return event.ClassCancelled, "the resource manager or an administrator killed it" + after(text), statusKilled
	case exitAfterApp:
		return event.ClassCancelled, "its application had ended" + after(text), statusTerm
	case exitLogs:
		return event.ClassExit, "its logs grew over the limit of " + node + after(text), statusKilled
	case exitInvalid:
		return event.ClassStart, "its files could not be brought to " + node + after(text), notStartedCode
	}
	switch {
	case s.Exit == 0:
		return event.ClassLost, "its executor ended by itself", 0
	case s.Exit > exitSignal && s.Exit < exitSignal+65:
		return event.ClassLost, fmt.Sprintf("its executor on %s was ended by %s%s", node, signalName(s.Exit-exitSignal), after(text)), s.Exit
	}
	return event.ClassLost, fmt.Sprintf("its executor on %s ended with %d%s", node, s.Exit, after(text)), s.Exit
}

// signals that containers are seen to end by, by number.
var signals = map[int]string{6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}

func signalName(n int) string {
	if name, ok := signals[n]; ok {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

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

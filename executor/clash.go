package executor

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/muster-project/muster/event"
)

// inUse are the ways in which programs say that a port was taken.
var inUse = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)address already in use|EADDRINUSE|errno: ?98\b`) })

// clash says whether a task died of a port that was taken, and which: one of
// its own by name if the lines show its number, else 0. -1: no clash.
func clash(stderr []string, ports map[string]int) (port int, held string) {
	port = -1
	for _, line := range stderr {
		if !inUse().MatchString(line) {
			continue
		}
		if port < 0 {
			port = 0
		}
		for name, number := range ports {
			if regexp.MustCompile(fmt.Sprintf(`\b%d\b`, number)).MatchString(line) {
				return number, name
			}
		}
	}
	return port, ""
}

// blame words the clash. If it was a port that we held for the task, its
// program sets neither of the options that let it share: whoever starts it again
// needs the port free, so the next incarnation here gets it so.
func (e *executor) blame(x *event.Exit, port int, name string) {
	text := "address already in use"
	if port > 0 {
		text = fmt.Sprintf("port %d (%s): address already in use", port, name)
		x.Class = event.ClassNetwork
		if holder, taken := listener(port); taken {
			text += ": " + holder
		} else {
			e.letGo = true
		}
	}
	x.Text = strings.TrimPrefix(x.Text+"; "+text, "; ")
}

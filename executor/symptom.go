package executor

import (
	"regexp"
	"slices"
	"sync"

	"github.com/muster-project/muster/wire"
)

// When one task of a distributed job dies, the others lose their connections to
// it and die too, often first in the order in which we hear of it. Their last
// words give them away: what they tell of is another one's end.

// echoes are what libraries say when a peer has gone. A line that tells of a
// cause in its own process must never match. Made when a task has failed: it
// takes a tenth of a megabyte.
var echoes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(echoText) })

const echoText = `(?i)` +
	`connection reset by peer` +
	`|connection closed by (remote )?peer` +
	`|connection refused` +
	`|connection (was )?closed` +
	`|connection aborted` +
	`|broken ?pipe` +
	`|socket closed` +
	`|socket is not connected` +
	`|peer (has )?(closed|disconnected)` +
	`|remote process exited or there was a network error` + // NCCL
	`|\[.*gloo.*\].*(timed out|peer)` +
	`|store.*(connection|broken|reset|timed out)` + // torch's TCPStore
	`|(unavailable|cancelled|aborted).*(peer|connect|coordination|rpc)` + // gRPC in TensorFlow
	`|failed to connect to all addresses` +
	`|heartbeat.*(timed? ?out|missed|failed)` +
	`|end of file.*peer` +
	`|` + wire.Torn + // our own: the executor of another task has gone
	`|` + withWord // and: this task only waited for another

// echo says whether the last lines of a task's output look like the echo of
// another task's end.
func echo(stderr []string) bool {
	return slices.ContainsFunc(stderr[max(0, len(stderr)-lastWords):], echoes().MatchString)
}

// lastWords is how many lines from the end are looked at: a Python traceback
// has its reason in the last, libraries add a few.
const lastWords = 8

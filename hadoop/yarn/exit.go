package yarn

import "fmt"

// Exit statuses that YARN sets itself, in ContainerStatus.exit_status. Others
// are the process's own: 0 to 255, with 128+n for a signal.
const (
	ExitUnknown          = -1000 // it has not ended, or nobody knows how
	ExitAborted          = -100  // released by the master, never started in time, or its node was lost
	ExitDisksFailed      = -101  // too many of the node's disks failed
	ExitPreempted        = -102  // the scheduler took it for another queue or user
	ExitVirtualMemory    = -103  // over its virtual memory
	ExitPhysicalMemory   = -104  // over its memory
	ExitStoppedByMaster  = -105  // stopped on the master's word
	ExitStoppedByRM      = -106  // the ResourceManager wanted it gone, such as after a node's restart
	ExitAfterApplication = -107  // the application had ended
	ExitByNode           = -108  // the NodeManager's own container scheduler, for guaranteed containers
	ExitLogSize          = -109  // its logs grew beyond the limit
	ExitKilled           = 137   // SIGKILL: also what the kernel does when memory ends
	ExitTerminated       = 143   // SIGTERM
)

// Exit is what an exit status means.
type Exit struct {
	Status  int32
	Name    string // one word or two with hyphens, for records
	Meaning string // for people
	// Blameless: the task did nothing wrong and may be tried again elsewhere.
	// Neither do such ends of a master count as attempts.
	Blameless bool
}

var exits = []Exit{
	{0, "success", "ended by itself without an error", false},
	{ExitUnknown, "unknown", "has not ended, or how it ended is not known", false},
	{ExitAborted, "aborted", "released, not started in time, or its node was lost", true},
	{ExitDisksFailed, "disks-failed", "the node's disks failed", true},
	{ExitPreempted, "preempted", "taken by the scheduler for another queue or user", true},
	{ExitVirtualMemory, "virtual-memory", "used more virtual memory than the node allows", false},
	{ExitPhysicalMemory, "memory", "used more memory than it asked for", false},
	{ExitStoppedByMaster, "stopped-by-master", "stopped by the application's master", false},
	{ExitStoppedByRM, "stopped-by-rm", "stopped by the ResourceManager", true},
	{ExitAfterApplication, "after-application", "stopped because the application had ended", false},
	{ExitByNode, "stopped-by-node", "stopped by its node to make room", true},
	{ExitLogSize, "log-size", "wrote more logs than the node allows", false},
	{ExitKilled, "killed", "killed (signal 9): often by the kernel for want of memory", false},
	{ExitTerminated, "terminated", "terminated (signal 15)", false},
}

// ExitOf tells what a container's exit status means.
func ExitOf(status int32) Exit {
	for _, e := range exits {
		if e.Status == status {
			return e
		}
	}
	switch {
	case status > 128 && status < 128+65:
		return Exit{Status: status, Name: fmt.Sprintf("signal-%d", status-128), Meaning: fmt.Sprintf("ended by signal %d", status-128)}
	case status > 0:
		return Exit{Status: status, Name: "failure", Meaning: fmt.Sprintf("ended by itself with status %d", status)}
	}
	return Exit{Status: status, Name: "other", Meaning: fmt.Sprintf("ended by YARN with status %d", status)}
}

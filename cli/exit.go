package cli

// muster's own exit statuses, all of them. run and wait give a task's own
// status where a task failed first (128+n for a signal), so these numbers can
// also come from a user's program: "-o json" and the verdict say whose it is
// (origin: task or muster).
const (
	exitOK       = 0   // done; run, wait: the job succeeded
	exitUsage    = 64  // the command line itself is wrong
	exitJobFile  = 65  // the job file, a site file or a user file is wrong
	exitRefused  = 69  // refused by a backend, or unreachable, or no such job
	exitInternal = 70  // our fault
	exitRetry    = 75  // preempted, or worth trying again as it is
	exitTimeout  = 124 // timed out
	exitStopped  = 130 // stopped by the user, or the command was interrupted
)

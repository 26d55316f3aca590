package event

// bodies lists every type of fact: a new one is added here and nowhere else.
var bodies = []func() Body{
	func() Body { return new(JobSubmitted) },
	func() Body { return new(TermOpened) },
	func() Body { return new(SlotsRequested) },
	func() Body { return new(JobWaiting) },
	func() Body { return new(JobWarned) },
	func() Body { return new(SlotGranted) },
	func() Body { return new(RequestRefused) },
	func() Body { return new(ExecutorStarted) },
	func() Body { return new(SlotReleased) },
	func() Body { return new(SlotGone) },
	func() Body { return new(EpochOpened) },
	func() Body { return new(TaskRegistered) },
	func() Body { return new(RosterCompleted) },
	func() Body { return new(TaskStarted) },
	func() Body { return new(TaskReady) },
	func() Body { return new(TaskPublished) },
	func() Body { return new(PreemptionAnnounced) },
	func() Body { return new(PreemptionWithdrawn) },
	func() Body { return new(TaskStopping) },
	func() Body { return new(TaskExited) },
	func() Body { return new(ProgressReported) },
	func() Body { return new(SignalRequested) },
	func() Body { return new(SignalSent) },
	func() Body { return new(StopRequested) },
	func() Body { return new(RestartDecided) },
	func() Body { return new(VerdictReached) },
	func() Body { return new(JobFinished) },
}

// Type is "job.submitted".
func (*JobSubmitted) Type() string { return "job.submitted" }

// Type is "term.opened".
func (*TermOpened) Type() string { return "term.opened" }

// Type is "slots.requested".
func (*SlotsRequested) Type() string { return "slots.requested" }

// Type is "job.waiting".
func (*JobWaiting) Type() string { return "job.waiting" }

// Type is "job.warned".
func (*JobWarned) Type() string { return "job.warned" }

// Type is "slot.granted".
func (*SlotGranted) Type() string { return "slot.granted" }

// Type is "request.refused".
func (*RequestRefused) Type() string { return "request.refused" }

// Type is "executor.started".
func (*ExecutorStarted) Type() string { return "executor.started" }

// Type is "slot.released".
func (*SlotReleased) Type() string { return "slot.released" }

// Type is "slot.gone".
func (*SlotGone) Type() string { return "slot.gone" }

// Type is "epoch.opened".
func (*EpochOpened) Type() string { return "epoch.opened" }

// Type is "task.registered".
func (*TaskRegistered) Type() string { return "task.registered" }

// Type is "roster.completed".
func (*RosterCompleted) Type() string { return "roster.completed" }

// Type is "task.started".
func (*TaskStarted) Type() string { return "task.started" }

// Type is "task.ready".
func (*TaskReady) Type() string { return "task.ready" }

// Type is "task.published".
func (*TaskPublished) Type() string { return "task.published" }

// Type is "task.stopping".
func (*TaskStopping) Type() string { return "task.stopping" }

// Type is "task.exited".
func (*TaskExited) Type() string { return "task.exited" }

// Type is "progress.reported".
func (*ProgressReported) Type() string { return "progress.reported" }

// Type is "signal.requested".
func (*SignalRequested) Type() string { return "signal.requested" }

// Type is "signal.sent".
func (*SignalSent) Type() string { return "signal.sent" }

// Type is "stop.requested".
func (*StopRequested) Type() string { return "stop.requested" }

// Type is "restart.decided".
func (*RestartDecided) Type() string { return "restart.decided" }

// Type is "verdict.reached".
func (*VerdictReached) Type() string { return "verdict.reached" }

// Type is "job.finished".
func (*JobFinished) Type() string { return "job.finished" }

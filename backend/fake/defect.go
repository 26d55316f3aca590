package fake

// Defect is a mistake that a backend can make. Each case of backendtest is
// shown to fail against a fake in which its own defect is planted.
type Defect string

// The defects, by the case that must notice them.
const (
	None          Defect = ""
	GrantsPartly  Defect = "grants a part of a gang while the rest must wait"
	KeepsSurplus  Defect = "grants one slot too many and never takes it back"
	FlattensExits Defect = "reports every bad exit as 1"
	StopsOnce     Defect = "fails when asked to stop a second time"
	StartsLate    Defect = "starts executors although their slots were released"
	HidesLoss     Defect = "never says that a slot is gone"
	RepeatsExits  Defect = "repeats an old exit under the next incarnation"
	StaleAnswers  Defect = "answers a roll call for the incarnation before"
	TouchesOnLoss Defect = "ends its slots when it is superseded"
	GuessesEnds   Defect = "takes silence for the end of a job"
	LosesLines    Defect = "drops what a task printed last"
	HidesWarnings Defect = "takes slots away without a warning"
	LeavesSlots   Defect = "forgets slots when a job is closed"
)

package framework

// Describer is implemented by frameworks that can say what they offer:
// "muster frameworks" shows it. Every framework of this tree does.
type Describer interface {
	Describe() Description
}

// Description is what people should know of a framework before they use it.
type Description struct {
	About     string            // one line: what tasks get
	Roles     []RoleDescription // roles whose name has a meaning here, in the order of a job file
	Launchers []string          // programs whose lines work as they are, such as torchrun
}

// RoleDescription is one role as the framework knows it.
type RoleDescription struct {
	Name string
	Does string // what its tasks are, half a line
	// Default says what the role is where the author writes nothing: "1 task,
	// added when missing, runs the command of worker". Empty: it is not added.
	Default string
}

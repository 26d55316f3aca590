package plan

import "github.com/muster-project/muster/spec"

// Python is what "python" is in a task: what the job file says, and what was
// made of it before the job was submitted.
type Python struct {
	spec.Python
	// Env is the directory of the environment that was made of Requirements or
	// Archive, where every node sees it.
	Env string `json:"env,omitempty"`
	// Blob is the content address of what nodes make the environment of: the
	// archive, or the wheels of Requirements.
	Blob string `json:"blob,omitempty"`
}

// File is what nodes need of it; its Key is empty where they need nothing.
func (p Python) File() File {
	if p.Env != "" || p.Archive == "" && p.Blob == "" {
		return File{}
	}
	return File{Source: p.Archive, Name: "python", Blob: p.Blob}
}

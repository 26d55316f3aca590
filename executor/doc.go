// Package executor runs one slot of a job on its node: a Context and a
// coordinator's directives come in; prepared directories, held ports, running
// processes and reports of them go out.
//
// An executor outlives incarnations: when a task is restarted, its processes
// end and the next incarnation is prepared in the same executor, with a
// directory of its own. It knows no framework and no backend: argument lists,
// environments and files are computed by the coordinator; the executor adds
// only what it alone knows (directories, devices, the interpreter).
//
//	connector  dials the coordinator, redials, hears directives        ┐
//	control    hears of a coordinator with a higher term               │ inputs
//	preparer   localises the work directory, holds ports               ├───────→ loop
//	launcher   starts the tree                                         │  (owns all state)
//	attendant  watches ports and report file, waits for the tree's end │
//	calls      run commands of peers and people in the tree, attached  ┘
//
// A task's own programs reach peers by the agent's socket in their directory.
package executor

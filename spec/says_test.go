package spec

import "testing"

func TestOnlyTheAuthorsWordsAreSaid(t *testing.T) {
	s := &Stack{}
	s.Add(SiteFile, "site", []byte("defaults: {framework: pytorch, procs: 2}"))
	s.Add(JobFile, "job.yaml", []byte("env: {A: '1'}\ncommand: x\nroles: {worker: {gpus: 0}, ps: }"))
	s.SetFlag("--set", "roles.ps.procs", "3")
	s.SetFlag("--set", "roles.worker", "{cpus: 2}")
	for path, want := range map[string]bool{
		"framework": false, "procs": false, "command": true, "env.A": true, "env.B": false, "roles": true, "roles.ps": true,
		"roles.worker.gpus": true, "roles.worker.procs": false, "roles.ps.procs": true, "roles.worker.cpus": true, "roles.ps.gpus": false,
	} {
		if got := s.Says(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

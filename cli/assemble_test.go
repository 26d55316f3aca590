package cli

import "testing"

func TestAJobIsCalledAfterItsFileOrWhatItsCommandRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		file    string
		command []string
		want    string
	}{
		"the file":                  {"jobs/train.yaml", []string{"python", "x.py"}, "train"},
		"a file from a pipe":        {"-", nil, "stdin"},
		"the program":               {"", []string{"/bin/sleep", "1"}, "sleep"},
		"the script":                {"", []string{"python", "-u", "src/train.py", "other.py"}, "train"},
		"what stands before it":     {"", []string{"timeout", "60", "nice", "mpirun", "-np", "2", "true"}, "mpirun"},
		"nothing but what prefixes": {"", []string{"timeout", "60"}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &assembly{file: tc.file, command: tc.command}
			if got := a.defaultName(); got != tc.want {
				t.Errorf("called %q, want %q", got, tc.want)
			}
		})
	}
}

package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonPath is the interpreter of this machine.
func pythonPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3: not found: the module's tests are written in Python")
	}
	return path
}

func TestTheModuleDoesWhatItsOwnTestsSay(t *testing.T) {
	cmd := exec.Command(pythonPath(t), "-B", "-m", "unittest", "discover", "-s", "tests")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestTheEmbeddedModuleIsWhole(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "muster.py"), Module, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pythonPath(t), "-c", "import muster; print(muster.__file__); muster.report(step=1)")
	cmd.Dir = t.TempDir() // or the sources here would be found first
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "MUSTER_REPORT_FILE="+filepath.Join(dir, "r"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != filepath.Join(dir, "muster.py") {
		t.Fatalf("%v: %s", err, out)
	}
	if line, err := os.ReadFile(filepath.Join(dir, "r")); err != nil || string(line) != "{\"step\":1}\n" {
		t.Errorf("%v: %q", err, line)
	}
}

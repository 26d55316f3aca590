package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sdk "github.com/muster-project/muster/sdk/python"
)

// moduleDir has the Python module by which tasks report their progress.
const moduleDir = "python"

// writeModule puts the module where PYTHONPATH ends.
func writeModule(dir string) error {
	dir = filepath.Join(dir, moduleDir)
	err := os.Mkdir(dir, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.WriteFile(filepath.Join(dir, "muster.py"), sdk.Module, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", dir, cause(err))
	}
	return nil
}

// addModule makes the module found behind everything that the job and its
// submitter have on PYTHONPATH.
func addModule(env map[string]string, dir string) {
	path := filepath.Join(dir, moduleDir)
	if own := env["PYTHONPATH"]; own != "" {
		path = own + ":" + path
	}
	env["PYTHONPATH"] = path
}

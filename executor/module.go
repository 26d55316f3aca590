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
	files := sdk.Files()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, moduleDir, filepath.FromSlash(name))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o700))
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", moduleDir, cause(err))
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

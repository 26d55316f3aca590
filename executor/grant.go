package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// checkGrant refuses a grant that does not hold together before anything is
// started on it: a count of GPUs that differs from the list, or a device that
// this node does not have. Devices in use equal the grant exactly.
func (e *executor) checkGrant() error {
	if e.AsFound {
		return nil // nobody said which ones they are
	}
	node, _ := os.Hostname()
	if len(e.Devices) != e.Resources.GPUs {
		return fmt.Errorf("gpus: %d were granted on %s, but devices [%s] were named",
			e.Resources.GPUs, node, strings.Join(e.Devices, ","))
	}
	for _, id := range e.Devices {
		if !present(id, "/") {
			return fmt.Errorf("gpus: device %s was granted, but %s has no such device", id, node)
		}
	}
	return nil
}

// present looks for a device where NVIDIA's driver shows it. Where that driver
// is not, or the identifier is of another kind, nothing can be looked up, and
// the grant is believed.
func present(id, root string) bool {
	driver := filepath.Join(root, "proc/driver/nvidia/gpus")
	if _, err := os.Stat(driver); err != nil {
		return true
	}
	if n, err := strconv.Atoi(id); err == nil {
		// The driver counts what is there from 0; the names need not begin there
		// in a container that was given some of them.
		nodes, _ := filepath.Glob(filepath.Join(root, "dev", "nvidia[0-9]*"))
		return n < len(nodes)
	}
	if !strings.HasPrefix(id, "GPU-") {
		return true
	}
	files, _ := filepath.Glob(filepath.Join(driver, "*", "information"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), id) {
			return true
		}
	}
	return false
}

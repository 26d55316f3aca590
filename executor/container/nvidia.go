package container

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// gpu is a device as nvidia-smi shows it.
type gpu struct {
	index int
	uuid  string
	bus   string // PCI address as in sysfs: 0000:17:00.0
}

// smiTime bounds nvidia-smi, which hangs where the driver does.
const smiTime = 20 * time.Second

// smi runs nvidia-smi.
func smi(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("nvidia-smi: %w", err)
	}
	return string(out), nil
}

// Lines of nvidia-smi -L:
//
//	GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-6a9c…)
//	  MIG 1g.5gb      Device  0: (UUID: MIG-c2f4…)
var (
	gpuLine = regexp.MustCompile(`^GPU (\d+): .*\(UUID: (GPU-[0-9A-Za-z-]+)\)`)
	migLine = regexp.MustCompile(`^\s+MIG .*\(UUID: (MIG-[0-9A-Za-z/-]+)\)`)
)

// parseList reads nvidia-smi -L. A GPU that is cut into instances is given as
// these: it cannot be used whole.
func parseList(text string) []gpu {
	var out []gpu
	cut := false // the last GPU's first instance was seen
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			index, err := strconv.Atoi(m[1])
			if err == nil {
				out, cut = append(out, gpu{index: index, uuid: m[2]}), false
			}
		}
		if m := migLine.FindStringSubmatch(line); m != nil && len(out) > 0 {
			whole := out[len(out)-1]
			if !cut {
				out = out[:len(out)-1]
			}
			cut = true
			out = append(out, gpu{index: whole.index, uuid: m[1]})
		}
	}
	return out
}

func uuids(list []gpu) []string {
	out := make([]string, 0, len(list))
	for _, g := range list {
		out = append(out, g.uuid)
	}
	return out
}

// parseQuery reads lines of index, UUID and PCI address, which has a domain of
// eight digits: 0, GPU-6a9c…, 00000000:17:00.0.
func parseQuery(text string) []gpu {
	var out []gpu
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ",")
		if len(fields) != 3 {
			continue
		}
		index, err := strconv.Atoi(strings.TrimSpace(fields[0]))
		domain, rest, ok := strings.Cut(strings.ToLower(strings.TrimSpace(fields[2])), ":")
		if err != nil || !ok || len(domain) < 4 {
			continue
		}
		out = append(out, gpu{index: index, uuid: strings.TrimSpace(fields[1]), bus: domain[len(domain)-4:] + ":" + rest})
	}
	return out
}

// numaNode is the NUMA node of a PCI device. The kernel says -1 where there are
// none.
func numaNode(root, bus string) (int, bool) {
	text, err := os.ReadFile(filepath.Join(root, "sys/bus/pci/devices", filepath.Base(bus), "numa_node"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil && n >= 0
}

// parseAssigned gives the indices of the GPUs that a NodeManager gave a
// container. Two kinds of plugin answer in two ways.
func parseAssigned(text []byte, container string) []int {
	var answer struct {
		GPUs []struct {
			Index     int    `json:"index"`
			Container string `json:"containerId"`
		} `json:"assignedGpuDevices"`
		Devices []struct {
			Device struct {
				ID int `json:"id"`
			} `json:"device"`
			Container string `json:"containerId"`
		} `json:"assignedDevices"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return nil
	}
	var out []int
	for _, g := range answer.GPUs {
		if g.Container == container {
			out = append(out, g.Index)
		}
	}
	for _, d := range answer.Devices {
		if d.Container == container {
			out = append(out, d.Device.ID)
		}
	}
	return out
}

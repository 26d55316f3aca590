package container

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/executor"
)

// machine is what there is to ask about GPUs.
type machine struct {
	smi  func(ctx context.Context, args ...string) (string, error) // runs nvidia-smi
	get  func(ctx context.Context, path string) ([]byte, error)    // asks the NodeManager
	root string                                                    // of the file system, for sysfs
	env  map[string]string                                         // the container's
}

// Keys under which the job learns of a node's GPUs.
const (
	keyNUMA     = "gpu.numa"
	keyIsolated = "gpu.isolation"
)

// granted finds out which GPUs a container was granted where its coordinator
// knows their number only: the resource manager names none. What is worth
// knowing is logged and published.
func granted(ctx context.Context, c *executor.Context, m machine, published map[string]string, log *slog.Logger) {
	want := c.Resources.GPUs
	if want == 0 || len(c.Devices) > 0 {
		return
	}
	seen := m.seen(ctx)
	devices, how := m.isolated(seen, want)
	if devices == nil {
		devices, how = m.assigned(ctx, seen, want)
	}
	if devices == nil {
		c.AsFound = true
		log.Warn("GPUs were granted, but the node does not say which: CUDA_VISIBLE_DEVICES stays as it is", "granted", want, "seen", len(seen))
		if len(seen) > want {
			published[keyIsolated] = fmt.Sprintf("none: %d of %d GPUs were granted, and the node does not say which; tasks can take each other's", want, len(seen))
		}
		return
	}
	c.Devices = devices
	log.Info("GPUs", "devices", strings.Join(devices, ","), "told_by", how)
	if text := m.crossed(ctx, devices); text != "" {
		log.Warn("GPUs cross NUMA nodes", "detail", text)
		published[keyNUMA] = text
	}
}

// seen are the GPUs that nvidia-smi shows; none where it is not there.
func (m machine) seen(ctx context.Context) []gpu {
	text, err := m.smi(ctx, "-L")
	if err != nil {
		return nil
	}
	return parseList(text)
}

// isolated are the granted GPUs where others cannot be seen, or where a Docker
// runtime says which were put in.
func (m machine) isolated(seen []gpu, want int) (devices []string, how string) {
	if named := words(m.env["NVIDIA_VISIBLE_DEVICES"]); len(named) == want && !slices.ContainsFunc(named, notUUID) {
		return named, "NVIDIA_VISIBLE_DEVICES"
	}
	// Numbers there count on the host, and programs count what they see.
	if len(seen) == want {
		return uuids(seen), "nvidia-smi"
	}
	return nil, ""
}

// words splits a list of devices.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func notUUID(word string) bool {
	return !strings.HasPrefix(word, "GPU-") && !strings.HasPrefix(word, "MIG-")
}

// assigned are the GPUs that the NodeManager gave this container.
func (m machine) assigned(ctx context.Context, seen []gpu, want int) (devices []string, how string) {
	id := m.env["CONTAINER_ID"]
	if id == "" {
		return nil, ""
	}
	text, err := m.get(ctx, "/ws/v1/node/resources/yarn.io%2Fgpu")
	if err != nil {
		return nil, ""
	}
	indices := parseAssigned(text, id)
	if len(indices) != want {
		return nil, ""
	}
	for _, index := range indices {
		device := strconv.Itoa(index)
		if i := slices.IndexFunc(seen, func(g gpu) bool { return g.index == index }); i >= 0 {
			device = seen[i].uuid // a number depends on CUDA_DEVICE_ORDER
		}
		devices = append(devices, device)
	}
	return devices, "NodeManager"
}

// crossed says that granted GPUs do not share a NUMA node; empty if they do or
// nothing is known.
func (m machine) crossed(ctx context.Context, devices []string) string {
	if len(devices) < 2 {
		return ""
	}
	text, err := m.smi(ctx, "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader")
	if err != nil {
		return ""
	}
	var at []string
	nodes := map[int]bool{}
	for _, g := range parseQuery(text) {
		if !slices.Contains(devices, g.uuid) && !slices.Contains(devices, strconv.Itoa(g.index)) {
			continue
		}
		if n, ok := numaNode(m.root, g.bus); ok {
			nodes[n] = true
			at = append(at, fmt.Sprintf("GPU %d (%s) on node %d", g.index, g.bus, n))
		}
	}
	if len(nodes) < 2 {
		return ""
	}
	return "the granted GPUs cross NUMA nodes, so they reach each other slowly: " + strings.Join(at, ", ")
}

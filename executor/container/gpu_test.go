package container

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/plan"
)

// What nvidia-smi prints, on a node with two GPUs on two sockets.
const (
	twoGPUs = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb)\n"
	twoCut  = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa)\n" +
		"  MIG 3g.20gb     Device  0: (UUID: MIG-1111)\n  MIG 1g.5gb      Device  1: (UUID: MIG-2222)\n" +
		"GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb)\n"
	twoBuses = "0, GPU-aaaa, 00000000:17:00.0\n1, GPU-bbbb, 00000000:CA:00.0\n"
)

// asksFor is a machine whose nvidia-smi and NodeManager answer so; empty: not at
// all.
func asksFor(list, node string, env map[string]string) machine {
	return machine{
		smi: func(_ context.Context, args ...string) (string, error) {
			switch {
			case list == "":
				return "", errors.New("not found")
			case args[0] == "-L":
				return list, nil
			}
			return twoBuses, nil
		},
		get: func(_ context.Context, path string) ([]byte, error) {
			if node == "" || path != "/ws/v1/node/resources/yarn.io%2Fgpu" {
				return nil, errors.New("no answer")
			}
			return []byte(node), nil
		},
		root: "/nothing/here", env: env,
	}
}

func TestWhichGPUsWereGranted(t *testing.T) {
	me := map[string]string{"CONTAINER_ID": "container_e1_2"}
	assigned := `{"totalGpuDevices":[{"index":0,"minorNumber":0},{"index":1,"minorNumber":1}],"assignedGpuDevices":[` +
		`{"index":0,"minorNumber":0,"containerId":"container_e1_9"},{"index":1,"minorNumber":1,"containerId":"container_e1_2"}]}`
	plugin := `{"totalDevices":[],"assignedDevices":[{"device":{"id":1,"healthy":true},"containerId":"container_e1_2"}]}`
	for name, tc := range map[string]struct {
		want    int
		machine machine
		devices []string
		asFound bool
		told    string // key that is published
	}{
		"none granted":           {0, asksFor(twoGPUs, assigned, me), nil, false, ""},
		"put in by Docker":       {2, asksFor("", "", map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-cccc,GPU-dddd"}), []string{"GPU-cccc", "GPU-dddd"}, false, ""},
		"Docker counts the host": {2, asksFor(twoGPUs, "", map[string]string{"NVIDIA_VISIBLE_DEVICES": "4,6"}), []string{"GPU-aaaa", "GPU-bbbb"}, false, ""},
		"an image's own setting": {1, asksFor(twoGPUs, assigned, map[string]string{"NVIDIA_VISIBLE_DEVICES": "all", "CONTAINER_ID": "container_e1_2"}), []string{"GPU-bbbb"}, false, ""},
		"isolated":               {2, asksFor(twoGPUs, "", me), []string{"GPU-aaaa", "GPU-bbbb"}, false, ""},
		"isolated instances":     {3, asksFor(twoCut, "", me), []string{"MIG-1111", "MIG-2222", "GPU-bbbb"}, false, ""},
		"not isolated":           {1, asksFor(twoGPUs, assigned, me), []string{"GPU-bbbb"}, false, ""},
		"told by a plugin":       {1, asksFor(twoGPUs, plugin, me), []string{"GPU-bbbb"}, false, ""},
		"no nvidia-smi":          {1, asksFor("", assigned, me), []string{"1"}, false, ""},
		"of another container":   {1, asksFor(twoGPUs, assigned, map[string]string{"CONTAINER_ID": "container_e1_7"}), nil, true, keyIsolated},
		"nobody knows":           {1, asksFor(twoGPUs, "", me), nil, true, keyIsolated},
		"only counted":           {2, asksFor("", "", me), nil, true, ""},
		"nonsense":               {1, asksFor("no devices\n", "{", me), nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := executor.Context{Resources: plan.Resources{GPUs: tc.want}}
			published := map[string]string{}
			granted(t.Context(), &c, tc.machine, published, slog.New(slog.DiscardHandler))
			if diff := cmp.Diff(tc.devices, c.Devices); diff != "" || c.AsFound != tc.asFound {
				t.Errorf("as found %t, %s", c.AsFound, diff)
			}
			if _, ok := published[tc.told]; ok != (tc.told != "") || !ok && len(published) > 0 {
				t.Errorf("published %v", published)
			}
		})
	}
}

func TestDevicesThatTheCoordinatorKnowsStay(t *testing.T) {
	c := executor.Context{Resources: plan.Resources{GPUs: 1}, Devices: []string{"3"}}
	granted(t.Context(), &c, asksFor(twoGPUs, "", nil), map[string]string{}, slog.New(slog.DiscardHandler))
	if diff := cmp.Diff([]string{"3"}, c.Devices); diff != "" {
		t.Error(diff)
	}
}

func TestGPUsThatCrossNUMANodesAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes map[string]string // numa_node by address
		want  string
	}{
		"two nodes":     {map[string]string{"0000:17:00.0": "0\n", "0000:ca:00.0": "1\n"}, "GPU 0 (0000:17:00.0) on node 0, GPU 1 (0000:ca:00.0) on node 1"},
		"one node":      {map[string]string{"0000:17:00.0": "1\n", "0000:ca:00.0": "1\n"}, ""},
		"no nodes":      {map[string]string{"0000:17:00.0": "-1\n", "0000:ca:00.0": "-1\n"}, ""},
		"nothing known": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := asksFor(twoGPUs, "", nil)
			m.root = t.TempDir()
			for bus, node := range tc.nodes {
				dir := filepath.Join(m.root, "sys/bus/pci/devices", bus)
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte(node), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			published := map[string]string{}
			c := executor.Context{Resources: plan.Resources{GPUs: 2}}
			granted(t.Context(), &c, m, published, slog.New(slog.NewTextHandler(&log, nil)))
			if got := published[keyNUMA]; !strings.HasSuffix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("published %q", got)
			}
			if strings.Contains(log.String(), "level=WARN") != (tc.want != "") {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(twoGPUs)
	f.Add(twoCut)
	f.Add(twoBuses)
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range append(parseList(text), parseQuery(text)...) {
			if strings.ContainsAny(g.uuid, ",\n") {
				t.Errorf("device %q", g.uuid)
			}
			numaNode(t.TempDir(), g.bus)
		}
	})
}

package yarn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

const (
	fairClass     = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
	capacityClass = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
)

func TestRound(t *testing.T) {
	gpus := map[string]string{"yarn.resource-types": GPU, "yarn.resource-types.yarn.io/gpu.maximum-allocation": "4"}
	with := func(more map[string]string) *conf.Conf { return conf.New(gpus).With(more) }
	tests := map[string]struct {
		conf      *conf.Conf
		scheduler string
		ask, want Resource
	}{
		"capacity, defaults":        {with(nil), "", Resource{Memory: 1025, VCores: 1}, Resource{Memory: 2048, VCores: 1}},
		"capacity, a small minimum": {with(map[string]string{"yarn.scheduler.minimum-allocation-mb": "64"}), "", Resource{Memory: 100}, Resource{Memory: 128, VCores: 1}},
		"capacity, cores by twos":   {with(map[string]string{"yarn.scheduler.minimum-allocation-vcores": "2"}), "", Resource{Memory: 1024, VCores: 3}, Resource{Memory: 1024, VCores: 4}},
		"capacity by name":          {with(map[string]string{"yarn.resourcemanager.scheduler.class": fairClass, "yarn.scheduler.minimum-allocation-mb": "64"}), "capacity", Resource{Memory: 100, VCores: 1}, Resource{Memory: 128, VCores: 1}},
		"fair: 128 MiB take 1024":   {with(map[string]string{"yarn.resourcemanager.scheduler.class": fairClass, "yarn.scheduler.minimum-allocation-mb": "64"}), "", Resource{Memory: 128, VCores: 1}, Resource{Memory: 1024, VCores: 1}},
		"fair, an increment":        {with(map[string]string{"yarn.scheduler.increment-allocation-mb": "512"}), "fair", Resource{Memory: 1100, VCores: 1}, Resource{Memory: 1536, VCores: 1}},
		"fair, the newer key":       {with(map[string]string{"yarn.resource-types.memory-mb.increment-allocation": "256"}), "fair", Resource{Memory: 1100, VCores: 1}, Resource{Memory: 1280, VCores: 1}},
		"devices stay":              {with(nil), capacityClass, Resource{Memory: 1024, VCores: 1, More: map[string]int64{GPU: 3}}, Resource{Memory: 1024, VCores: 1, More: map[string]int64{GPU: 3}}},
		"cut to the maximum":        {with(map[string]string{"yarn.scheduler.maximum-allocation-mb": "5000"}), "", Resource{Memory: 4500, VCores: 1}, Resource{Memory: 5000, VCores: 1}},
		"too large stays too large": {with(map[string]string{"yarn.scheduler.maximum-allocation-mb": "5000"}), "", Resource{Memory: 5001, VCores: 1}, Resource{Memory: 5120, VCores: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, RoundingOf(test.conf, test.scheduler).Round(test.ask)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	r := RoundingOf(conf.New(map[string]string{"yarn.resource-types": GPU, "yarn.resource-types.yarn.io/gpu.maximum-allocation": "4"}), "")
	if err := r.Check(Resource{Memory: 8192, VCores: 4, More: map[string]int64{GPU: 4}}); err != nil {
		t.Error(err)
	}
	for want, ask := range map[string]Resource{
		"memory-mb":   {Memory: 8193},
		"vcores":      {VCores: 5},
		"yarn.io/gpu": {More: map[string]int64{GPU: 5}},
	} {
		if err := r.Check(ask); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%v: %v", ask, err)
		}
	}
}

// Rounding gives at least what was asked for, and rounding again changes nothing.
func TestRoundTwice(t *testing.T) {
	amount := rapid.Custom(func(t *rapid.T) Resource {
		n := func(name string) int64 { return rapid.Int64Range(0, 10000).Draw(t, name) }
		return Resource{Memory: n("memory"), VCores: n("vcores"), More: map[string]int64{GPU: n("gpu")}}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := Rounding{Min: amount.Draw(t, "min"), Step: amount.Draw(t, "step"), Max: amount.Draw(t, "max")}
		ask := amount.Draw(t, "ask")
		once := r.Round(ask)
		for _, k := range ask.Names() {
			if r.Min.Get(k) <= r.Max.Get(k) && once.Get(k) < ask.Get(k) {
				t.Errorf("%s: %d of %d", k, once.Get(k), ask.Get(k))
			}
		}
		if r.Check(ask) == nil {
			if diff := cmp.Diff(once, r.Round(once)); diff != "" {
				t.Errorf("(-once +twice):\n%s", diff)
			}
		}
	})
}

func TestResource(t *testing.T) {
	r := Resource{Memory: 100, VCores: 2, More: map[string]int64{GPU: 1}}
	sent := r.Proto()
	sent.More = append(sent.More, // as servers do
		&yarnpb.ResourceInformation{Key: proto.String("memory-mb"), Value: proto.Int64(100), Units: proto.String("Mi")},
		&yarnpb.ResourceInformation{Key: proto.String("vcores"), Value: proto.Int64(2)})
	if diff := cmp.Diff(r, ResourceOf(sent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Resource{Memory: 300, VCores: 6, More: map[string]int64{GPU: 3}}, r.Times(3)); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Resource{Memory: 90, VCores: 2, More: map[string]int64{GPU: 1, "x": -5}}, r.Sub(Resource{Memory: 10, More: map[string]int64{"x": 5}})); diff != "" {
		t.Errorf("sub (-want +got):\n%s", diff)
	}
	if r.More["x"] != 0 || len(r.More) != 1 {
		t.Errorf("r itself changed: %v", r)
	}
	for want, ask := range map[string]Resource{
		"": {Memory: 100, VCores: 2, More: map[string]int64{GPU: 1, "x": 0}}, "memory-mb": {Memory: 101}, "vcores": {VCores: 3},
		GPU: {More: map[string]int64{GPU: 2}}, "x": {More: map[string]int64{"x": 1}},
	} {
		if got := ask.Lacks(r); got != want {
			t.Errorf("%v lacks %q, want %q", ask, got, want)
		}
	}
	if s := r.With("y", 0).String(); s != "100 MiB, 2 vcores, 1 yarn.io/gpu" {
		t.Error(s)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		value int64
		unit  string
		want  int64
	}{{3, "", 3}, {2, "Gi", 2 << 30}, {2, "k", 2000}, {2500, "m", 2}, {7, "strange", 7}, {1 << 62, "P", 1<<63 - 1}} {
		p := &yarnpb.Resource{More: []*yarnpb.ResourceInformation{{Key: proto.String("r"), Value: &test.value, Units: &test.unit}}}
		if got := ResourceOf(p).Get("r"); got != test.want {
			t.Errorf("%d %s: %d, want %d", test.value, test.unit, got, test.want)
		}
	}
}

func TestExit(t *testing.T) {
	blameless := map[int32]bool{-100: true, -101: true, -102: true, -106: true, -108: true}
	for status := int32(-1100); status < 300; status++ {
		e := ExitOf(status)
		if e.Status != status || e.Name == "" || e.Meaning == "" || e.Blameless != blameless[status] {
			t.Errorf("%d: %+v", status, e)
		}
	}
	for status, want := range map[int32]string{
		0: "success", 1: "failure", 137: "killed", 139: "signal-11", 143: "terminated", 255: "failure", -1000: "unknown",
		-100: "aborted", -104: "memory", -105: "stopped-by-master", -77: "other",
	} {
		if got := ExitOf(status).Name; got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}

func TestSameQueue(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"root.default", "default", true}, {"default", "root.default", true}, {"default", "default", true},
		{"root.a.x", "root.b.x", false}, {"root.a.x", "x", true}, {"a", "b", false}, {"root.a.x", "root.a.x", true},
	} {
		if got := SameQueue(test.a, test.b); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}

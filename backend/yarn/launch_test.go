package yarn

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// stable prints a record the same way each time: the printer varies its blanks on
// purpose.
func stable(m fmt.Stringer) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(m.String()), " "), "} ", "}\n") + "\n"
}

// What goes over the wire for a coordinator and an executor.
func TestLaunch(t *testing.T) {
	p := testPlan(2, size1, map[string]any{"docker": map[string]any{"image": "registry:5000/ml/pytorch:2", "mounts": []any{"/data:/data", "/out:/out:rw"}, "network": "host",
		"client_config": "hdfs:///user/alice/config.json", "delayed_removal": true},
		"tags": []any{"nightly"}, "lifetime": "1h", "am": map[string]any{"node_label": "batch"}, "log_aggregation": map[string]any{"include": ".*"}, "reservation": "reservation_7_0009"})
	p.Roles[0].Resources.GPUs = 2
	p.Work.Archive = strings.Repeat("a", 64)
	p.Work.Files = []plan.File{{Blob: strings.Repeat("b", 64)}, {Blob: strings.Repeat("a", 64)}}
	p.Queue, p.Priority = "research", 3
	p.ACLs = spec.ACLs{View: spec.People{Users: []string{"bob"}}, Modify: spec.People{Users: []string{"carol"}, Groups: []string{"ops"}}}
	s, findings := Decode(p)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	blob := func(n int, public bool) Resource {
		return Resource{Path: fmt.Sprintf("/user/alice/.muster/blobs/%d", n), Size: int64(100 * n), Time: int64(1000 * n), Public: public}
	}
	am := &AM{Executor: blob(1, true), Blobs: map[string]Resource{p.Work.Archive: blob(2, false), strings.Repeat("b", 64): blob(3, false)}}
	e, err := ExecutorContainer(am, s, p, "worker", []byte("secret"), []token.Token{{Identifier: []byte{1}, Password: []byte{2}, Kind: token.KindHDFS, Service: "10.0.0.1:8020"}}).Proto("hdfs://prod")
	if err != nil {
		t.Fatal(err)
	}
	cred, err := token.Parse(e.GetTokens())
	if err != nil || string(cred.Secrets[SecretStart]) != "secret" || len(cred.Tokens) != 1 || len(cred.Secrets) != 1 {
		t.Errorf("an executor is given %+v, %v", cred, err)
	}
	e.Tokens = nil
	files := map[string]Resource{FileMuster: blob(4, true), FileSite: blob(5, false), FileAM: {Path: "/user/alice/.muster/jobs/m/am-000001.json", Size: 9, Time: 9, Once: true}}
	c, err := coordinatorContainer(files, nil, p.ACLs).Proto("hdfs://nn:8020")
	if err != nil {
		t.Fatal(err)
	}
	a, err := applicationOf(p, s, []string{"", "gpu"}, "application_7_0001").proto(&yarnpb.ApplicationId{}, c)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "launch", "# application\n"+stable(a)+"# executor\n"+stable(e))
}

// A value comes out of a node's script as it went in, whatever a shell would
// make of it.
func TestShell(t *testing.T) {
	for _, v := range []string{"", "plain", `a"b`, "$HOME", "$(id)", "`id`", `back\slash`, `\"`, "two\nlines", "ümläut", "'single'", "*", "~", "!x", "a;b&c|d"} {
		escaped, err := shell(v)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "/bin/bash", "-c", `export K="`+escaped+`"; printf %s "$K"`).Output()
		if err != nil || string(out) != v {
			t.Errorf("%q became %q, %v", v, out, err)
		}
	}
	for _, v := range []string{`{"a":{"b":1}}`, "{{x", "<LOG_DIR>", "a<CPS>b", "\x00"} {
		if got, err := shell(v); err == nil {
			t.Errorf("%q is passed on as %q, and YARN would change it", v, got)
		}
	}
}

func TestFilesystem(t *testing.T) {
	for text, want := range map[string]filesystem{"hdfs://nn:8020": {"hdfs", "nn", 8020}, "hdfs://prod": {"hdfs", "prod", -1}, "hdfs://prod/": {"hdfs", "prod", -1}} {
		if got, err := parseFilesystem(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "nn:8020", "hdfs:///x", "hdfs://nn:x", "file:///"} {
		if got, err := parseFilesystem(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

// Render is pure and needs no cluster.
func TestRender(t *testing.T) {
	b := New(Config{User: "alice"})
	p := testPlan(2, size1, map[string]any{"tags": []any{"nightly"}})
	p.Work.Archive = strings.Repeat("a", 64)
	var out strings.Builder
	for range 2 {
		out.Reset()
		list, err := b.Render(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			fmt.Fprintf(&out, "# %s\n%s", a.Name, a.Data)
		}
	}
	golden(t, "render", out.String())
}

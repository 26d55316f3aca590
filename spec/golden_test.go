package spec

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not as it was (-want +got); rewrite it with -update if that is meant:\n%s", name, diff)
	}
}

// each runs a test for every file of testdata with an ending.
func each(t *testing.T, ending string, least int, test func(t *testing.T, name string, data []byte)) {
	names, err := filepath.Glob("testdata/*" + ending)
	if err != nil || len(names) < least {
		t.Fatalf("%d files *%s: %v", len(names), ending, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ending), func(t *testing.T) { test(t, name, data) })
	}
}

func resolve(name string, data []byte) (*Resolved, error) {
	var s Stack
	s.Add(JobFile, name, data)
	return s.Resolve("alice")
}

// Every bad file has its exact messages beside it.
func TestBadFilesTellEverythingWrong(t *testing.T) {
	each(t, ".bad.yaml", 40, func(t *testing.T, name string, data []byte) {
		_, err := resolve("job.yaml", data)
		if err == nil {
			t.Fatal("accepted")
		}
		golden(t, strings.TrimSuffix(name, ".yaml")+".txt", []byte(err.Error()+"\n"))
	})
}

func TestGoodFilesBecomeJobs(t *testing.T) {
	each(t, ".good.yaml", 15, func(t *testing.T, name string, data []byte) {
		res, err := resolve("job.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(res.Job); err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(name, ".yaml")+".json", b.Bytes())
	})
}

// What is printed as YAML or JSON is read back as the same job.
func TestGoodFilesSurviveTheRoundTrip(t *testing.T) {
	each(t, ".good.yaml", 15, func(t *testing.T, name string, data []byte) {
		res, err := resolve("job.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := YAML(res.Job)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode("again.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(res.Job, again); diff != "" {
			t.Errorf("through YAML (-want +got):\n%s\n%s", diff, text)
		}
		data, err = json.Marshal(res.Job)
		if err != nil {
			t.Fatal(err)
		}
		again, err = Decode("again.json", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(res.Job, again); diff != "" {
			t.Errorf("through JSON read as a job file (-want +got):\n%s", diff)
		}
		var plain Job
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(res.Job, &plain); diff != "" {
			t.Errorf("through encoding/json (-want +got):\n%s", diff)
		}
	})
}

func TestSchemaIsFresh(t *testing.T) { golden(t, "../docs/job.schema.json", Schema()) }

func TestDocumentIsFresh(t *testing.T) { golden(t, "../docs/job-file.md", Document()) }

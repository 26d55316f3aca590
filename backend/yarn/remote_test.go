package yarn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage/local"
)

func TestRemotePathIsOnTheClustersOwnFileSystem(t *testing.T) {
	const home = "hdfs://nn:8020"
	for source, want := range map[string]string{
		"hdfs:///data/x.zip":       "/data/x.zip",
		"hdfs://nn:8020/data/x":    "/data/x",
		"hdfs://other:8020/data/x": "",
		"s3://bucket/x":            "",
		"http://nn:8020/x":         "",
	} {
		got, err := remotePath(source, home)
		if got != want || (want == "") != errors.Is(err, errForeign) {
			t.Errorf("%s: %q, %v; want %q", source, got, err, want)
		}
	}
}

func TestFilesOnTheClusterAreLookedAtBeforeSubmitting(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.zip"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Work: plan.Work{Files: []plan.File{
		{Source: "hdfs://" + dir + "/x.zip", Name: "x"},
		{Source: "hdfs://" + dir + "/y.zip", Name: "y"},
		{Source: "hdfs://" + dir, Name: "z"},
		{Source: "s3://bucket/x", Name: "s"},
		{Source: "/here", Name: "h", Blob: "abc"},
	}}}
	var got []string
	for _, f := range checkFiles(context.Background(), local.FS{}, p, "hdfs://nn:8020") {
		got = append(got, f.Path)
	}
	if d := cmp.Diff([]string{"files[1]", "files[2]", "files[3]"}, got); d != "" {
		t.Error(d)
	}
}

package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

func TestF035OneBadDirectoryStopsNoOther(t *testing.T) {
	root := t.TempDir()
	for i := 1; i <= 50; i++ {
		dir := filepath.Join(root, fmt.Sprintf("m-%02d", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		j, _ := reopen(t, lazy, dir)
		if i != 10 { // which still runs
			add(t, j, finish())
		}
		closed(t, j)
	}
	third, twentieth := segmentPath(filepath.Join(root, "m-03"), 1), segmentPath(filepath.Join(root, "m-20"), 1)
	if err := os.Truncate(third, 0); err != nil {
		t.Fatal(err)
	}
	unreadable := faulty.FS{FS: local.FS{}, Plan: func(c faulty.Call) faulty.Fault {
		if c.Path == twentieth {
			return faulty.Fault{Err: os.ErrPermission}
		}
		return faulty.Fault{}
	}}
	if err := os.WriteFile(filepath.Join(root, "a file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	jobs, err := Jobs(t.Context(), unreadable, root)
	if len(jobs) != 48 {
		t.Errorf("%d jobs are listed, want 48", len(jobs))
	}
	for _, job := range jobs {
		if job.ID == "m-03" || job.ID == "m-20" || job.Dir != filepath.Join(root, job.ID) || !job.At.Equal(noon) {
			t.Errorf("unexpected: %+v", job)
		}
	}
	if err == nil {
		t.Fatal("the bad ones are not reported")
	}
	want := []string{filepath.Join(root, "m-03") + ": its journal is empty", os.ErrPermission.Error()}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestJobsTakesAJobThatHasNoJournalYet(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "m-1")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chtimes(dir, at, at)); err != nil {
		t.Fatal(err)
	}
	jobs, err := Jobs(t.Context(), lazy, root)
	if err != nil || len(jobs) != 1 || jobs[0].ID != "m-1" || !jobs[0].At.Equal(at) {
		t.Errorf("got %+v, %v", jobs, err)
	}
}

func TestJobsOfAPlaceWhereNothingWasSubmitted(t *testing.T) {
	jobs, err := Jobs(t.Context(), lazy, filepath.Join(t.TempDir(), "jobs"))
	if err != nil || jobs != nil {
		t.Errorf("got %v, %v", jobs, err)
	}
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

func TestReport(t *testing.T) {
	tests := map[string]struct {
		err    error
		status int
		want   string
	}{
		"nothing": {nil, 0, ""},
		"a fault with hints": {
			faultf(exitUsage, "--nodes: needs a value").hint("as in -N 2").hint("see %s", "help"), 64,
			"muster: --nodes: needs a value\nhint: as in -N 2\nhint: see help\n",
		},
		"several problems, each on its line; the first gives the status": {
			errors.Join(faultf(exitJobFile, "a: bad"), faultf(exitRefused, "b: worse").hint("mend b")), 65,
			"muster: a: bad\nmuster: b: worse\nhint: mend b\n",
		},
		"problems inside a fault": {
			fault(exitJobFile, errors.Join(errors.New("a: bad"), errors.New("b: bad"))), 65,
			"muster: a: bad\nmuster: b: bad\n",
		},
		"one sentence that has several causes": {
			fmt.Errorf("conf: %w: %w\nhint: kinit", errors.New("no proof"), errors.New("no ticket")), 70,
			"muster: conf: no proof: no ticket\nhint: kinit\n",
		},
		"hints in an error's text find their place": {
			fmt.Errorf("dir: cannot pack: shrank\n  hint: leave it out"), 70,
			"muster: dir: cannot pack: shrank\nhint: leave it out\n",
		},
		"an error of the server": {
			refused(api.Errorf(api.CodeForbidden, "m-1: not yours").WithHint("ask its owner")), 69,
			"muster: m-1: not yours\nhint: ask its owner\n",
		},
		"a fault of the server":           {refused(api.Errorf(api.CodeInternal, "oops")), 70, "muster: oops\n"},
		"a busy server":                   {refused(api.Errorf(api.CodeBusy, "busy")), 75, "muster: busy\n"},
		"a job's own status":              {verdictStatus(3), 3, ""},
		"our signal":                      {interruption{syscall.SIGINT}, 130, ""},
		"the reader went away":            {fmt.Errorf("write: %w", syscall.EPIPE), 141, ""},
		"time over":                       {context.DeadlineExceeded, 124, "muster: context deadline exceeded\n"},
		"no right":                        {fmt.Errorf("x: %w", fs.ErrPermission), 69, "muster: x: permission denied\n"},
		"a file system is away":           {fmt.Errorf("m-1: journal: %w", storage.ErrAway), 69, "muster: m-1: journal: storage is away\n"},
		"a cluster that cannot be called": {fmt.Errorf("m-1: journal: %w", backend.ErrUnusable), 69, "muster: m-1: journal: cannot be called\n"},
		"nobody classified it":            {errors.New("x: odd"), 70, "muster: x: odd\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := testEnv(t)
			if got := e.report(tc.err); got != tc.status {
				t.Errorf("exit status %d, want %d", got, tc.status)
			}
			if diff := cmp.Diff(tc.want, e.Stderr.(*bytes.Buffer).String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblemsOfFlagsAreUsageAndThoseOfFilesAreNot(t *testing.T) {
	e := testEnv(t)
	err := e.specFault(spec.Problems{{File: "--set", Path: "x", Text: "unknown field"}, {File: "job.yaml", Line: 2, Column: 3, Text: "bad", Hint: "mend it"}})
	if got := e.report(err); got != exitUsage {
		t.Errorf("exit status %d, want %d", got, exitUsage)
	}
	want := "muster: --set: x: unknown field\nmuster: job.yaml:2:3: bad\nhint: mend it\n"
	if diff := cmp.Diff(want, e.Stderr.(*bytes.Buffer).String()); diff != "" {
		t.Error(diff)
	}
}

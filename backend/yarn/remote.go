package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// errForeign says that a file lies where nodes are not told to fetch from.
var errForeign = errors.New("not on the cluster's own file system")

// remotePath is the path of a file that a job names by its address, such as
// hdfs:///data/x.zip or hdfs://nameservice/data/x.zip. home is fs.defaultFS.
func remotePath(source, home string) (string, error) {
	u, err := url.Parse(source)
	if err != nil {
		return "", err
	}
	own, err := url.Parse(home)
	if err != nil {
		return "", err
	}
	if u.Scheme != own.Scheme || u.Host != "" && u.Host != own.Host {
		return "", fmt.Errorf("%w, %s", errForeign, home)
	}
	return u.Path, nil
}

// checkFiles says what is wrong with the files that nodes are to fetch from the
// cluster's own file system.
func checkFiles(ctx context.Context, fsys storage.FS, p *plan.Plan, home string) []plan.Finding {
	var out []plan.Finding
	for i, f := range append(slices.Clone(p.Work.Files), p.Python.File()) {
		if !f.Remote() {
			continue
		}
		path := fmt.Sprintf("files[%d]", i)
		if i == len(p.Work.Files) {
			path = "python.archive"
		}
		complain := func(problem, hint string) {
			out = append(out, plan.Finding{Path: path, Problem: f.Source + ": " + problem, Hint: hint})
		}
		at, err := remotePath(f.Source, home)
		if err != nil {
			complain(err.Error(), "copy it there, or name a copy on this machine")
			continue
		}
		info, err := fsys.Stat(ctx, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			complain("is not there", "")
		case err != nil:
			complain("cannot be looked at: "+err.Error(), "")
		case info.IsDir():
			complain("is a directory, which nodes do not fetch", "pack it: a .zip or .tar.gz with #NAME and archive: true")
		}
	}
	return out
}

package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/storage"
)

const suffix = ".jsonl"

func segmentDir(dir string) string { return path.Join(dir, "journal") }

func segmentPath(dir string, term int64) string {
	return path.Join(segmentDir(dir), fmt.Sprintf("%06d%s", term, suffix))
}

// segments lists the terms that have a segment, lowest first. Other files in the
// directory are none of our business.
func segments(ctx context.Context, fsys storage.FS, dir string) ([]int64, error) {
	list, err := fsys.List(ctx, segmentDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		// A job that is new has no journal yet; one that is not there is an error.
		_, err = fsys.Stat(ctx, dir)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	var terms []int64
	for _, info := range list {
		number, ok := strings.CutSuffix(info.Name(), suffix)
		term, err := strconv.ParseInt(number, 10, 64)
		if ok && err == nil && term > 0 && path.Base(segmentPath(dir, term)) == info.Name() {
			terms = append(terms, term)
		}
	}
	slices.Sort(terms)
	return terms, nil
}

func last(terms []int64) int64 {
	if len(terms) == 0 {
		return 0
	}
	return terms[len(terms)-1]
}

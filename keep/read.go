package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/muster-project/muster/storage"
)

// read takes all chunks of a place that were not read yet.
func (p *place) read(ctx context.Context, fsys storage.FS, job string) error {
	dir := Dir(job, p.task, p.incarnation)
	numbers, err := chunks(ctx, fsys, dir)
	if err != nil || len(numbers) == 0 {
		return err
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	state := p.state()
	numbers = from(numbers, state.Next)
	if len(numbers) > 0 && numbers[0] != state.Next {
		// One was removed, or it came while the others were listed.
		if numbers, err = chunks(ctx, fsys, dir); err != nil {
			return err
		}
		numbers = from(numbers, state.Next)
	}
	was, wrong := state, []error(nil)
	for i, n := range numbers {
		e, err := p.chunk(ctx, fsys, path.Join(dir, chunkName(n)))
		last := i == len(numbers)-1
		if err != nil {
			wrong = append(wrong, err)
			if last || !errors.Is(err, ErrFormat) {
				break
			}
		}
		if !e.whole && last {
			break // it is being written, or stays torn until another one comes
		}
		state.Next, state.Final = n+1, state.Final || e.final
	}
	if state != was {
		wrong = append(wrong, p.note(state))
	}
	if state.Final {
		p.seal()
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("logs of %s: %w", p, err)
	}
	return nil
}

// chunk adds what is in one chunk.
func (p *place) chunk(ctx context.Context, fsys storage.FS, file string) (end, error) {
	c := p.copies()
	defer c.close()
	return readChunk(ctx, fsys, file, c.add)
}

// chunks are the numbers of the chunks in a directory, in order.
func chunks(ctx context.Context, fsys storage.FS, dir string) ([]int, error) {
	infos, err := list(ctx, fsys, dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, info := range infos {
		if n := chunkNumber(info.Name()); n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// list lists a directory; one that is not there is an empty one.
func list(ctx context.Context, fsys storage.FS, dir string) ([]fs.FileInfo, error) {
	infos, err := fsys.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return infos, err
}

func from(numbers []int, first int) []int {
	i, _ := slices.BinarySearch(numbers, first)
	return numbers[i:]
}

package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/muster-project/muster/keep"
	"github.com/muster-project/muster/process/capture"
	"github.com/muster-project/muster/wire"
)

// logName is what a log may be called: anything else is no log of ours.
var logName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.(out|err)$`) })

// streams bounds the logs that are followed at one time.
const streams = 32

// openLog sends one log on a connection of its own. Only somebody who follows
// costs anything; TCP holds us back when the reader is slow, and the task never.
func (e *executor) openLog(ctx context.Context, o wire.OpenLog) {
	address := e.known.Address
	running := func() bool {
		ask := isRunning{number: o.Incarnation, answer: make(chan bool, 1)}
		return e.tell(ctx, ask) && <-ask.answer
	}
	select {
	case e.following <- struct{}{}:
	default:
		e.log.Warn("log not sent: too many are followed", "name", o.Name)
		return
	}
	e.wg.Go(func() {
		defer func() { <-e.following }()
		if err := e.sendLog(ctx, address, o, running); err != nil && ctx.Err() == nil {
			e.log.Debug("log ended", "name", o.Name, "error", err)
		}
	})
}

func (e *executor) sendLog(ctx context.Context, address string, o wire.OpenLog, running func() bool) error {
	f, failure := e.openFile(o)
	out, err := wire.DialLog(ctx, address, e.tls, o.Stream, failure)
	if failure != nil || err != nil {
		return errors.Join(err, failure)
	}
	defer func() { _ = f.Close() }()
	stop := context.AfterFunc(ctx, out.Abort)
	defer stop()
	pull := func() error {
		_, err := io.Copy(out, f)
		return err
	}
	frames := keep.NewEncoder(out)
	if o.Timed {
		pull = func() error {
			_, err := keep.Copy(frames, f, o.Name)
			return err
		}
	}
	err = follow(ctx, pull, o.Follow, running)
	if err == nil && o.Timed {
		err = frames.Encode(keep.Frame{End: true})
	}
	if err != nil {
		out.Abort()
		return err
	}
	return out.Close()
}

// openFile opens a log at the wanted place.
func (e *executor) openFile(o wire.OpenLog) (*capture.Bytes, error) {
	path := filepath.Join(e.Root, strconv.Itoa(o.Incarnation), logDir, o.Name)
	if _, err := os.Stat(path); !logName().MatchString(o.Name) || o.Incarnation < 1 || err != nil {
		return nil, fmt.Errorf("%s: no such log", o.Name)
	}
	f, err := capture.OpenBytes(path, o.Offset)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, cause(err))
	}
	return f, nil
}

// follow pulls until the end of the file, and beyond as long as the task runs.
func follow(ctx context.Context, pull func() error, on bool, running func() bool) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		// Asked before the last copy: what was written until then is in the file.
		more := on && running()
		if err := pull(); err != nil {
			return err
		}
		if !more {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isRunning asks the loop whether more output may come.
type isRunning struct {
	number int
	answer chan bool // of size 1
}

func (i isRunning) apply(_ context.Context, e *executor) {
	i.answer <- e.now.number == i.number && e.now.busy()
}

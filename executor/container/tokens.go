package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// tokens are what this container may do on HDFS: the executor logs in with them,
// and its task finds them in a file of its own. They wear out, so a coordinator
// sends new ones.
type tokens struct {
	file string // what the task is told of; in the container's directory, which goes with the slot

	mu     sync.Mutex
	serial int64 // of the newest; those of the birth are numbered by when they were issued
	now    *token.Credentials
}

// tokenName is the task's token file in the container's directory: beside the
// directories of incarnations, so it is nobody's work file.
const tokenName = "hdfs.tokens"

// newTokens keeps what of the container's credentials is for HDFS.
func newTokens(dir string, c *token.Credentials) (*tokens, error) {
	t := &tokens{file: filepath.Join(dir, tokenName), now: c.Only(token.KindHDFS)}
	t.serial = t.now.Issued()
	if len(t.now.Tokens) == 0 {
		return t, nil // nobody wants a proof: there is nothing that a task could need
	}
	return t, t.write()
}

// any says that the task has a token file.
func (t *tokens) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.now.Tokens) > 0
}

// replace takes newer tokens. Those that are older than the ones at hand come
// from a coordinator that has just begun and has none but its first.
func (t *tokens) replace(serial int64, data []byte) error {
	c, err := token.Parse(data)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if serial <= t.serial {
		return nil
	}
	c = c.Only(token.KindHDFS)
	if len(c.Tokens) == 0 {
		return fmt.Errorf("credentials %d: no %s among them", serial, token.KindHDFS)
	}
	t.serial, t.now = serial, c
	return t.write()
}

// write puts the tokens where the task finds them. A program that opens the file
// meanwhile reads the old ones or the new ones, whole.
func (t *tokens) write() error {
	next := t.file + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: cannot be written anew: %w", next, err)
	}
	err := os.WriteFile(next, t.now.Bytes(), 0o600)
	if err == nil {
		err = os.Rename(next, t.file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the task's token file cannot be written: %w", err), os.RemoveAll(next))
	}
	return nil
}

// auth is how the NameNodes of a file system are called: by token if there is
// one, else by the name of a user that is believed. It is asked at each new
// connection, so the newest token counts.
func (t *tokens) auth(place conf.Filesystem, user string) hdfs.Auth {
	return func(ctx context.Context) (rpc.Auth, error) {
		t.mu.Lock()
		have := t.now
		t.mu.Unlock()
		return rpc.Auth{User: user, Token: hdfs.TokenFor(ctx, place, have)}, nil
	}
}

// close takes the file away.
func (t *tokens) close() error {
	err := os.Remove(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

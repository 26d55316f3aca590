package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/hadoop/token"
)

// SecretStart is the name of the secret that holds the start context.
const SecretStart = "muster.start"

// tokenFile names the variable that says where the credentials are.
const tokenFile = "HADOOP_TOKEN_FILE_LOCATION"

// Birth is executor.Birth in the current directory, which is the container's.
func Birth(ctx context.Context, p executor.Program, log *slog.Logger) (*executor.Born, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("container: its directory is not known: %w", err)
	}
	// Our memory holds the private key, and tasks run as the same user: the kernel
	// keeps them from reading it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn("the executor's memory can be read by its task", "error", err)
	}
	return birth(ctx, dir, p.Environ, log)
}

func birth(ctx context.Context, dir string, environ []string, log *slog.Logger) (*executor.Born, error) {
	node := parse(environ)
	credentials, err := read(node[tokenFile], log)
	if err != nil {
		return nil, err
	}
	var c executor.Context
	if err := json.Unmarshal(credentials.Secrets[SecretStart], &c); err != nil {
		return nil, fmt.Errorf("secret %s: not a start context: %w", SecretStart, err)
	}
	c.Root, c.Blobs = filepath.Join(dir, "task"), filepath.Join(dir, "blobs")
	if c.Saved != "" {
		c.Checkpoint = filepath.Join(dir, "checkpoint")
	}
	c.LogDir, _, _ = strings.Cut(node["LOG_DIRS"], ",")
	c.Shelf = shelf(dir, node["LOCAL_DIRS"])
	born := &executor.Born{Published: map[string]string{}}
	granted(ctx, &c, machine{smi: smi, get: nodeManager(node, c.User), root: "/", env: node}, born.Published, log)

	lives, err := settle(dir, tempRoot)
	if err != nil {
		return nil, err
	}
	mine, err := newTokens(dir, credentials)
	if err != nil {
		return nil, errors.Join(err, lives.close())
	}
	born.Close = func() error { return errors.Join(mine.close(), lives.close()) }
	born.Credentials = mine.replace
	c.Environ = inherit(c.Environ, node, lives.home(c.User), lives.temp, c.User)
	if mine.any() {
		c.Environ[tokenFile] = mine.file
	}
	if len(c.Storage) > 0 {
		storage := &lazy{open: hdfsOpener(c.Storage, c.User, mine)}
		born.FS = storage
		born.Close = func() error { return errors.Join(storage.close(), mine.close(), lives.close()) }
	}
	for _, v := range environ {
		if !strings.HasPrefix(v, tokenFile+"=") {
			born.Environ = append(born.Environ, v)
		}
	}
	born.Context = c
	return born, nil
}

// shelf is where containers of this application share environments: beside
// them, where the node cleans up when the application ends. All see the same
// list of directories, so the first that is theirs is the same for all.
func shelf(dir, locals string) string {
	for local := range strings.SplitSeq(locals, ",") {
		if filepath.IsAbs(local) && unix.Access(local, unix.W_OK) == nil {
			return filepath.Join(local, "python")
		}
	}
	return filepath.Join(dir, "python")
}

// read takes the credentials. Their file goes: it holds our private key, and
// tasks run as the same user.
func read(file string, log *slog.Logger) (*token.Credentials, error) {
	if file == "" {
		return nil, fmt.Errorf("%s: not set: this verb runs in a YARN container only", tokenFile)
	}
	c, err := token.Load(file)
	if err != nil {
		return nil, err
	}
	if len(c.Secrets[SecretStart]) == 0 {
		return nil, fmt.Errorf("%s: no secret %s in it: the coordinator did not start this container", file, SecretStart)
	}
	if err := os.Remove(file); err != nil {
		// A runtime may have mounted it by itself; then it can be emptied.
		if err := os.Truncate(file, 0); err != nil {
			log.Error("the container's credentials can be read by its task", "file", file, "error", err)
		}
	}
	return c, nil
}

// parse gives the variables of an environment by name.
func parse(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			out[name] = value
		}
	}
	return out
}

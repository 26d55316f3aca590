package yarn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/storage"
)

// largeText bounds what is read of a file that one of ours wrote: a submission
// holds an environment, and nothing else comes near it.
const largeText = 16 << 20

// readText reads a small file as one line.
func readText(ctx context.Context, fsys storage.FS, name string) (string, error) {
	data, err := readFile(ctx, fsys, name)
	return strings.TrimSpace(string(data)), err
}

func readFile(ctx context.Context, fsys storage.FS, name string) ([]byte, error) {
	r, err := fsys.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, largeText+1))
	if err == nil && len(data) > largeText {
		err = fmt.Errorf("%s: larger than %d bytes", name, largeText)
	}
	return data, err
}

func readJSON(ctx context.Context, fsys storage.FS, name string, v any) error {
	data, err := readFile(ctx, fsys, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	return nil
}

// discard removes what is of no use, also when the caller has given up.
func discard(ctx context.Context, fsys storage.FS, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	return fsys.Remove(ctx, name)
}

const discardTime = 10 * time.Second

func artefact(list []backend.Artefact, name string, v any) ([]backend.Artefact, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(list, backend.Artefact{Name: name, Data: out.Bytes()}), nil
}

// sketch is a container for people: its files, environment and command.
func (c Container) sketch(size Size) any {
	files := map[string]string{}
	for name, r := range c.Files {
		files[name] = r.Path
	}
	return struct {
		Size    string            `json:"size"`
		Files   map[string]string `json:"files"`
		Env     map[string]string `json:"env,omitempty"`
		Command string            `json:"command"`
	}{say(size), files, c.Env, c.Command}
}

func (b broken) Open(context.Context, string, int64) (io.ReadCloser, error) { return nil, b.err }
func (b broken) Create(context.Context, string, fs.FileMode) (storage.Writer, error) {
	return nil, b.err
}
func (b broken) Rename(context.Context, string, string) error        { return b.err }
func (b broken) Mkdir(context.Context, string, fs.FileMode) error    { return b.err }
func (b broken) SetTimes(context.Context, string, time.Time) error   { return b.err }
func (b broken) List(context.Context, string) ([]fs.FileInfo, error) { return nil, b.err }
func (b broken) Stat(context.Context, string) (fs.FileInfo, error)   { return nil, b.err }
func (b broken) Remove(context.Context, string) error                { return b.err }

package cli

import (
	"context"
	"os"
	"path/filepath"
)

// away is what the server is told of this user's jobs on clusters.
type away struct{ env *Env }

// Open lists the notes on jobs that are not known to be sealed.
func (a away) Open() ([]string, error) {
	jobs, err := a.env.remoteJobs()
	var open []string
	for _, j := range jobs {
		if _, err := os.Stat(filepath.Join(j.remote.dir, endedFile)); err != nil {
			open = append(open, j.ID)
		}
	}
	return open, err
}

// Keep tends one until it is sealed.
func (a away) Keep(ctx context.Context, name string) error {
	paths, err := a.env.Paths()
	if err != nil {
		return err
	}
	j, err := a.env.openNote(filepath.Join(paths.Remote(), name))
	if err != nil {
		return err
	}
	defer a.env.disconnect(j) // the next time may begin with another ticket
	return a.env.keep(ctx, j)
}

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/plan"
)

// Claim is what one slot holds of the machine.
type Claim struct {
	Job    string      `json:"job"`
	Slot   string      `json:"slot"`
	Task   plan.TaskID `json:"task"`
	User   string      `json:"user"`
	UID    int         `json:"uid"`
	CPUs   float64     `json:"cpus"`
	CPUSet string      `json:"cpu_set,omitempty"`
	Memory int64       `json:"memory,omitempty"`
	GPUs   []string    `json:"gpus,omitempty"`
}

// Ledger is the directories in which the claims of all users of a machine lie.
// New claims go into the first one that exists and can be written.
type Ledger struct {
	Dirs []string
	Log  func(text string, args ...any) // nil: nobody wants to know
}

// DefaultClaims are the directories looked at where none are set. An
// administrator who makes the first takes the second out of play: nobody but
// root can then delete another user's claim.
func DefaultClaims() []string { return []string{"/var/lib/muster/claims", "/tmp/muster-claims"} }

// maxClaim bounds what is read of a file that any user may have written.
const maxClaim = 64 << 10

// lockWait bounds how long another server may hold the whole directory.
const lockWait = 5 * time.Second

// Lock keeps every other server of this machine from deciding. The directory
// itself is what is locked: there is no lock file that a user could own.
func (l Ledger) Lock(ctx context.Context) (unlock func(), err error) {
	if err := l.make(); err != nil {
		return nil, err
	}
	var held []*os.File
	unlock = func() {
		for _, f := range held {
			f.Close()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for _, dir := range l.Dirs {
		f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			unlock()
			return nil, fmt.Errorf("%s: the claims of this machine cannot be read: %w", dir, err)
		}
		held = append(held, f)
		if err := flockWait(ctx, f, unix.LOCK_EX); err != nil {
			unlock()
			return nil, fmt.Errorf("%s: another server keeps the claims of this machine locked: %w", dir, err)
		}
	}
	return unlock, nil
}

// make sees to it that the last directory exists, for everybody.
func (l Ledger) make() error {
	if len(l.Dirs) == 0 {
		return errors.New("claims: no directory is set")
	}
	dir := l.Dirs[len(l.Dirs)-1]
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("%s: the directory for claims cannot be made: %w", dir, err)
	}
	switch err := os.Mkdir(dir, 0o777); {
	case err == nil:
		// Mkdir obeys the umask and drops the sticky bit.
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			return fmt.Errorf("%s: the directory for claims cannot be opened to all users: %w", dir, err)
		}
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: the directory for claims cannot be made: %w", dir, err)
	}
	return nil
}

// flockWait polls, because a blocked flock cannot be cancelled.
func flockWait(ctx context.Context, f *os.File, how int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := flock(f, how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = raw.Control(func(fd uintptr) {
		for {
			if locked = unix.Flock(int(fd), how); locked != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, locked)
}

// Living lists the claims that somebody holds. Files that nobody holds are
// removed where they are ours to remove. Call it under Lock.
func (l Ledger) Living() ([]Claim, error) {
	var living []Claim
	for _, dir := range l.Dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the claims of this machine cannot be read: %w", dir, err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !strings.HasSuffix(path, claimSuffix) || !e.Type().IsRegular() {
				continue
			}
			c, alive, err := l.look(path)
			switch {
			case err != nil:
				l.say("claim ignored", "path", path, "error", err)
			case alive:
				living = append(living, c)
			default:
				os.Remove(path) // another user's stays: the directory is sticky
			}
		}
	}
	return living, nil
}

const claimSuffix = ".claim"

func (l Ledger) say(text string, args ...any) {
	if l.Log != nil {
		l.Log(text, args...)
	}
}

// look reads a claim and says whether anybody holds it.
func (l Ledger) look(path string) (Claim, bool, error) {
	f, err := openClaim(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Claim{}, false, nil
	}
	if err != nil {
		return Claim{}, false, err
	}
	defer f.Close()
	if free, err := Free(f); free || err != nil {
		return Claim{}, false, err
	}
	var c Claim
	if err := json.NewDecoder(io.LimitReader(f, maxClaim)).Decode(&c); err != nil {
		return Claim{}, false, fmt.Errorf("%s: not a claim: %w", path, err)
	}
	return c, true, nil
}

// openClaim opens what another user may have put there: no link is followed,
// and a pipe cannot block us.
func openClaim(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return f, nil
}

// Free says that nobody holds the claim that f was opened from. It must not be
// asked of a file that itself holds the claim.
func Free(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, flock(f, unix.LOCK_UN)
}

// Create writes a claim and holds it until the file is closed. Call it under Lock.
func (l Ledger) Create(c Claim) (path string, held *os.File, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", nil, err
	}
	for _, dir := range l.Dirs {
		path = filepath.Join(dir, claimName(c.Job, c.Slot))
		held, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s: is claimed already: %w", path, fs.ErrExist)
			break
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("claims: cannot be written: %w", err)
	}
	_, werr := held.Write(append(data, '\n'))
	// Other users must read it whatever the server's umask is.
	if err := errors.Join(werr, held.Chmod(0o644), flock(held, unix.LOCK_SH|unix.LOCK_NB)); err != nil {
		held.Close()
		os.Remove(path)
		return "", nil, fmt.Errorf("claims: cannot be written: %w", err)
	}
	return path, held, nil
}

func claimName(job, slot string) string { return job + "." + slot + claimSuffix }

// Take joins the holders of a claim that somebody else holds now. It fails with
// fs.ErrNotExist if nobody does: then what it held may be another's by now.
// Call it under Lock, or a passing look of another server reads as a holder.
func Take(path string) (*os.File, error) {
	f, err := openClaim(path)
	if err != nil {
		return nil, err
	}
	free, err := Free(f)
	if err == nil && free {
		err = fmt.Errorf("%s: nobody holds this claim any more: %w", path, fs.ErrNotExist)
	}
	if err == nil {
		err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Find says where the claim of a slot lies.
func (l Ledger) Find(job, slot string) (path string, ok bool) {
	for _, dir := range l.Dirs {
		path = filepath.Join(dir, claimName(job, slot))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// touch keeps our claims from being swept out of a temporary directory by age.
func (l Ledger) touch(now time.Time) {
	for _, dir := range l.Dirs {
		names, _ := filepath.Glob(filepath.Join(dir, "*"+claimSuffix))
		for _, path := range names {
			_ = os.Chtimes(path, now, now) // only tidiness, and not ours to do for other users
		}
	}
}

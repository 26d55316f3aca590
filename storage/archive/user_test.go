package archive

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asUser calls f as somebody without rights over other people's files, who owns
// everything below dir. Nothing changes where the tests run as such a user.
func asUser(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	for up := dir; up != filepath.Clean(os.TempDir()) && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The identity for file access belongs to a thread. It is never unlocked, so
		// that the thread ends with the goroutine.
		runtime.LockOSThread()
		if err := unix.Setfsgid(nobody); err != nil {
			t.Error(err)
		}
		if err := unix.Setfsuid(nobody); err != nil {
			t.Error(err)
		}
		f()
	}()
	<-done
}

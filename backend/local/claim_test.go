package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func newLedger(t *testing.T) Ledger {
	return Ledger{Dirs: []string{filepath.Join(t.TempDir(), "claims")}, Log: func(text string, args ...any) { t.Log(text, args) }}
}

func (l Ledger) locked(t *testing.T, f func()) {
	t.Helper()
	unlock, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	f()
}

func (l Ledger) living(t *testing.T) []Claim {
	t.Helper()
	var claims []Claim
	l.locked(t, func() {
		var err error
		if claims, err = l.Living(); err != nil {
			t.Fatal(err)
		}
	})
	return claims
}

func (l Ledger) create(t *testing.T, c Claim) (string, *os.File) {
	t.Helper()
	var path string
	var f *os.File
	l.locked(t, func() {
		var err error
		if path, f, err = l.Create(c); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { f.Close() })
	return path, f
}

func TestAClaimLivesAsLongAsAnybodyHoldsIt(t *testing.T) {
	l := newLedger(t)
	path, first := l.create(t, Claim{Job: "m-a", Slot: "1-w-0", GPUs: []string{"0"}})
	var second *os.File
	l.locked(t, func() {
		var err error
		if second, err = Take(path); err != nil {
			t.Fatal(err)
		}
	})
	defer second.Close()
	first.Close()
	if got := l.living(t); len(got) != 1 || got[0].Job != "m-a" || got[0].GPUs[0] != "0" {
		t.Errorf("living: %+v, want the claim that the second still holds", got)
	}
	second.Close()
	if got := l.living(t); len(got) != 0 {
		t.Errorf("living: %+v, want none", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead claim is still there: %v", err)
	}
}

func TestADeadClaimCannotBeTaken(t *testing.T) {
	l := newLedger(t)
	path, f := l.create(t, Claim{Job: "m-a", Slot: "1-w-0"})
	f.Close()
	l.locked(t, func() {
		if held, err := Take(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("took %v, %v", held, err)
		}
	})
}

func TestAClaimIsMadeOnce(t *testing.T) {
	l := newLedger(t)
	l.create(t, Claim{Job: "m-a", Slot: "1-w-0"})
	l.locked(t, func() {
		if _, _, err := l.Create(Claim{Job: "m-a", Slot: "1-w-0"}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("made twice: %v", err)
		}
	})
}

func TestTheDirectoryIsForAllUsers(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	l := newLedger(t)
	path, _ := l.create(t, Claim{Job: "m-a", Slot: "1-w-0"})
	if info, err := os.Stat(l.Dirs[0]); err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("claim: %v, %v", info.Mode(), err)
	}
}

func TestWhatOthersPutAmongTheClaimsHarmsNobody(t *testing.T) {
	l := newLedger(t)
	l.create(t, Claim{Job: "m-a", Slot: "1-w-0"})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(`{"job":"m-secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(l.Dirs[0], name+claimSuffix) }
	huge, err := os.Create(at("huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer huge.Close()
	_, err = huge.WriteString(`{"job":"` + strings.Repeat("x", 2*maxClaim) + `"}`)
	set, serr := os.Create(at("set"))
	if serr != nil {
		t.Fatal(serr)
	}
	defer set.Close()
	_, serr = set.WriteString(`{"job":"m-set","cpu_set":"0-99999999999,-5,x,3-1"}`)
	if err := errors.Join(err, serr, os.Symlink(secret, at("link")), syscall.Mkfifo(at("pipe"), 0o666), os.Mkdir(at("dir"), 0o755),
		flock(huge, syscall.LOCK_EX), flock(set, syscall.LOCK_EX)); err != nil {
		t.Fatal(err)
	}
	got := l.living(t)
	if len(got) != 2 || got[0].Job+got[1].Job != "m-am-set" {
		t.Fatalf("living: %+v, want the two that are claims", got)
	}
	if b := newBooks(box(), got); len(b.cpus) != 4 {
		t.Errorf("processors left: %v; a set that is none took some", b.cpus)
	}
}

func TestAnAdministratorsDirectoryGoesFirstAndTheOtherStillCounts(t *testing.T) {
	dir := t.TempDir()
	l := Ledger{Dirs: []string{filepath.Join(dir, "official"), filepath.Join(dir, "fallback")}}
	before, _ := l.create(t, Claim{Job: "m-before", Slot: "1-w-0"})
	if err := os.Mkdir(l.Dirs[0], 0o777); err != nil {
		t.Fatal(err)
	}
	after, _ := l.create(t, Claim{Job: "m-after", Slot: "1-w-0"})
	if filepath.Dir(before) != l.Dirs[1] || filepath.Dir(after) != l.Dirs[0] {
		t.Errorf("claims went to %s and %s", before, after)
	}
	if got := l.living(t); len(got) != 2 {
		t.Errorf("living: %+v, want both", got)
	}
}

package cli

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSignalName(t *testing.T) {
	for word, want := range map[string]string{"USR1": "SIGUSR1", "sigterm": "SIGTERM", "9": "SIGKILL", "int": "SIGINT"} {
		if got, err := signalName(word); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", word, got, err, want)
		}
	}
	for _, word := range []string{"", "USR3", "999", "-1", "SIG"} {
		if got, err := signalName(word); codeOf(err) != exitUsage {
			t.Errorf("%q: got %s, %v; want a usage error", word, got, err)
		}
	}
}

func TestUmaskIsReadWithoutChangingIt(t *testing.T) {
	before := unix.Umask(0o037)
	defer unix.Umask(before)
	if got := umask(); got != 0o037 {
		t.Errorf("got %#o, want 037", got)
	}
	if now := unix.Umask(0o037); now != 0o037 {
		t.Errorf("it was changed to %#o", now)
	}
}

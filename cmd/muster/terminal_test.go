package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// place is a state directory of a test's own, in which nothing may be left.
type place struct {
	t   *testing.T
	dir string
	env []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	home, claims := filepath.Join(dir, ".muster"), filepath.Join(dir, ".claims")
	if err := os.Mkdir(claims, 0o777); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir, env: append(os.Environ(), "MUSTER_HOME="+home, "MUSTER_SITE=", "MUSTER_CLAIMS="+claims,
		"HOME="+dir, "TERM=xterm", "NO_COLOR=")}
	t.Cleanup(func() {
		p.muster("serve", "--stop")
		for _, left := range waitGone(home) {
			syscall.Kill(left.pid, syscall.SIGKILL)
			t.Errorf("process is left: %v", left)
		}
	})
	return p
}

// muster runs a command off a terminal and gives what it said and its status.
func (p *place) muster(args ...string) (string, int) {
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("muster %v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// until runs a command until its output holds a text.
func (p *place) until(text string, args ...string) {
	p.t.Helper()
	deadline := time.NewTimer(40 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		out, _ := p.muster(args...)
		if strings.Contains(out, text) {
			return
		}
		select {
		case <-deadline.C:
			p.t.Fatalf("muster %v never says %q, but:\n%s", args, text, out)
		case <-tick.C:
		}
	}
}

// terminal is a command that runs on one.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	done chan struct{} // all output is read
	mu   sync.Mutex
	text strings.Builder
	seen int // what expect has consumed
}

func (p *place) onTerminal(args ...string) *terminal {
	p.t.Helper()
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	// These tests may run under nohup; nothing on a terminal does. Who catches a
	// signal hands it on as it is by default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		p.t.Fatal(err)
	}
	term := &terminal{t: p.t, cmd: cmd, tty: tty, done: make(chan struct{})}
	go func() {
		defer close(term.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			term.mu.Lock()
			term.text.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() { cmd.Process.Kill(); <-term.done; tty.Close() })
	return term
}

// expect waits until what was not yet consumed matches.
func (s *terminal) expect(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.NewTimer(40 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		text := s.text.String()[s.seen:]
		at := re.FindStringIndex(text)
		if at != nil {
			s.seen += at[1]
		}
		s.mu.Unlock()
		if at != nil {
			return
		}
		select {
		case <-deadline.C:
			s.t.Fatalf("no %q on the terminal; it shows:\n%q", pattern, text)
		case <-tick.C:
		}
	}
}

func (s *terminal) press(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the command and gives its status.
func (s *terminal) end() int {
	s.t.Helper()
	<-s.done
	_ = s.cmd.Wait() // the status says it
	return s.cmd.ProcessState.ExitCode()
}

const ctrlC = "\x03"

func TestTerminalShowsALiveBlock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.onTerminal("run", "--name", "block", "--", "sh", "-c",
		`echo begun; echo '{"step":4,"total":10,"loss":0.5}' >> $MUSTER_REPORT_FILE; while [ ! -e go ]; do sleep 0.1; done; echo finished`)
	s.expect(`m-[a-z2-7]{10} block  running  .*1 (running|ready)  \d`)
	s.expect(`▕█+ +▏ 40%  step 4/10  loss 0.5`)
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	// The block is taken away before a line of the task, and for good at the end.
	s.expect(`\x1b\[\d+A\r\x1b\[J(.|\n)*task/0.* \| finished`)
	s.expect(`muster: m-[a-z2-7]{10} succeeded`)
	if got := s.end(); got != 0 {
		t.Errorf("exit status %d, want 0", got)
	}
	after := s.text.String()[strings.LastIndex(s.text.String(), "succeeded"):]
	if strings.Contains(after, "▕") || strings.Contains(after, "running") {
		t.Errorf("the block is on the screen after the verdict: %q", after)
	}
}

func TestTerminalCtrlCAsks(t *testing.T) {
	t.Parallel()
	const question = `detach \(d\), stop the job \(s\), or go on \(Enter\)\?`
	tests := map[string]struct {
		answer func(s *terminal)
		status int
		state  string // of the job afterwards
	}{
		"detach": {func(s *terminal) {
			s.press("d\n")
			s.expect(`muster: detached: m-[a-z2-7]{10} goes on`)
		}, 0, "running"},
		"stop": {func(s *terminal) {
			s.press("s\n")
			s.expect(`stopped by`)
		}, 130, "stopped"},
		"Ctrl-C again stops": {func(s *terminal) {
			s.press(ctrlC)
			s.expect(`stopped by`)
		}, 130, "stopped"},
		"go on, then stop": {func(s *terminal) {
			s.press("\n")
			s.expect(`running`)
			s.press(ctrlC)
			s.expect(question)
			s.press("what\n")
			s.expect(`what: not an answer`)
			s.expect(question)
			s.press("s\n")
			s.expect(`stopped by`)
		}, 130, "stopped"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.onTerminal("run", "--name", "asked", "--", "sleep", "3600")
			s.expect(`1 (running|ready)`)
			s.press(ctrlC)
			s.expect(question)
			tc.answer(s)
			if got := s.end(); got != tc.status {
				t.Errorf("exit status %d, want %d", got, tc.status)
			}
			if out, _ := p.muster("status", "asked"); !strings.Contains(out, "state      "+tc.state+"\n") {
				t.Errorf("the job is not %s:\n%s", tc.state, out)
			}
			p.muster("stop", "--now", "asked")
			p.muster("wait", "asked")
		})
	}
}

// What tasks print while the question stands would bury it: it waits for the answer.
func TestTerminalQuestionIsNotPrintedOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.onTerminal("run", "--name", "loud", "--", "sh", "-c",
		"while [ ! -e go ]; do sleep 0.1; done; echo printed meanwhile; sleep 3600")
	s.expect(`1 (running|ready)`)
	s.press(ctrlC)
	s.expect(`Ctrl-C again stops it: $`)
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	p.until("printed meanwhile", "logs", "loud")
	s.press("what\n")
	s.expect(`what: not an answer`)
	s.press("\n")
	s.expect(`task/0.* \| printed meanwhile`)
	p.muster("stop", "--now", "loud")
	s.expect(`stopped by`)
	s.end()
	if said := s.text.String(); strings.Index(said, "printed meanwhile") < strings.Index(said, "not an answer") {
		t.Errorf("printed over the question: %q", said)
	}
}

func TestTerminalHangUpDetaches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.onTerminal("run", "--name", "hung", "--", "sleep", "3600")
	s.expect(`1 (running|ready)`)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.expect(`muster: detached: `)
	if got := s.end(); got != 129 {
		t.Errorf("exit status %d, want 129", got)
	}
	if out, _ := p.muster("ps", "-o", "wide"); !strings.Contains(out, "running") {
		t.Errorf("the job does not run on:\n%s", out)
	}
	p.muster("stop", "--now", "hung")
	p.muster("wait", "hung")
}

func TestTerminalTop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.muster("submit", "--name", "busy", "--", "sh", "-c", "while :; do :; done")
	s := p.onTerminal("top", "busy")
	s.expect(`TASK +STATE +CPUS +MEMORY`)
	s.expect(`task/0 +(running|ready) +0\.[1-9]`)
	s.press(ctrlC)
	if got := s.end(); got != 0 {
		t.Errorf("exit status %d, want 0", got)
	}
	out, _ := p.muster("top", "busy", "-o", "json")
	if !strings.Contains(out, `"task": "task/0"`) || !strings.Contains(out, `"processes": 1`) {
		t.Errorf("top -o json says %s", out)
	}
	p.muster("stop", "--now", "busy")
	p.muster("wait", "busy")
}

// Off a terminal INT and TERM stop the job: a script that is interrupted leaves
// nothing behind.
func TestSignalsOffATerminalStop(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			cmd := exec.Command("muster", "run", "--name", "plain", "--", "sleep", "3600")
			cmd.Dir, cmd.Env = p.dir, p.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				out, _ := p.muster("ps")
				return strings.Contains(out, "running")
			})
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the status says it
			if got := cmd.ProcessState.ExitCode(); got != 130 {
				t.Errorf("exit status %d, want 130", got)
			}
		})
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(40 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatal("not within 40 s")
		case <-tick.C:
		}
	}
}

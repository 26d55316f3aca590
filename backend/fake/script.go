package fake

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/event"
)

// Script is what a task does: a list of words such as "print=hello",
// "sleep=100ms", "exit=3", "kill=SIGKILL". "1:exit=3" happens in the first
// incarnation only. A script that comes to its end exits with 0. "saves" ends it
// with 75 as soon as the task is told that it will be preempted.
type Script []string

// Saves says that the task ends well when it is told of a preemption.
func (s Script) Saves() bool { return slices.Contains(s, "saves") }

// Parse takes a command line whose first word is the name of the fake.
func Parse(argv []string) Script {
	if len(argv) == 0 {
		return nil
	}
	return Script(argv[1:])
}

// signals are the numbers of those that tests use.
var signals = map[string]int{"SIGKILL": 9, "SIGSEGV": 11, "SIGTERM": 15, "SIGABRT": 6}

// Play does the script until its end or until ctx is done, which is the stop signal.
func (s Script) Play(ctx context.Context, incarnation int, print func(string)) event.Exit {
	for _, word := range s {
		if n, rest, ok := strings.Cut(word, ":"); ok {
			if only, err := strconv.Atoi(n); err == nil {
				if only != incarnation {
					continue
				}
				word = rest
			}
		}
		verb, arg, _ := strings.Cut(word, "=")
		switch verb {
		case "print":
			print(arg)
		case "sleep":
			d, _ := time.ParseDuration(arg)
			t := time.NewTimer(d)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return event.Exit{Class: event.ClassSignal, Status: 143, Signal: "SIGTERM", Stopped: true}
			}
		case "exit":
			if n, _ := strconv.Atoi(arg); n != 0 {
				return event.Exit{Class: event.ClassExit, Status: n}
			}
			return event.Exit{}
		case "kill":
			return event.Exit{Class: event.ClassSignal, Status: 128 + signals[arg], Signal: arg}
		}
	}
	return event.Exit{}
}

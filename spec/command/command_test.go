package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/spec"
)

func TestOnlyWhatNoShellWouldChangeHasWords(t *testing.T) {
	for line, want := range map[string][]string{
		"python train.py --epochs 3":         {"python", "train.py", "--epochs", "3"},
		`python 'a b.py' "c d" e\ f`:         {"python", "a b.py", "c d", "e f"},
		`python "say \"hi\" \n" a"b"'c'`:     {"python", `say "hi" \n`, "abc"},
		"python train.py \\\n  --lr 0.1":     {"python", "train.py", "--lr", "0.1"},
		"python train.py # the best of them": {"python", "train.py"},
		"cd x && python y.py":                nil,
		"python $SCRIPT":                     nil,
		`python "$SCRIPT"`:                   nil,
		"A=1 python x.py":                    nil,
		"a\nb":                               nil,
		"python *.py":                        nil,
		"python ~/x.py":                      nil,
		"python {a,b}.py":                    nil,
		"python x.py > log":                  nil,
		"python x.py &":                      nil,
		"! python x.py":                      nil,
		"python x.py | tee log":              nil,
		"python 'x.py":                       nil,
		"python $'x.py'":                     nil,
		"python $(which x)":                  nil,
	} {
		if d := cmp.Diff(want, Words(line)); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

func TestTheProgramStandsBehindWhatExecutesIt(t *testing.T) {
	for line, want := range map[string]string{
		"torchrun x.py":                                 "torchrun",
		"/opt/bin/torchrun x.py":                        "/opt/bin/torchrun",
		"exec env A=B C= torchrun x.py":                 "torchrun",
		"env -u A -i PATH=/bin torchrun":                "torchrun",
		"A=$B env C=$D torchrun":                        "torchrun",
		"timeout 60 torchrun":                           "torchrun",
		"timeout -k 5 --signal=INT $T torchrun":         "torchrun",
		"nice -n 5 torchrun":                            "torchrun",
		"nice -5 ionice -c2 -n 7 torchrun":              "torchrun",
		"nohup setsid stdbuf -oL -e L torchrun":         "torchrun",
		"/usr/bin/time -v -o log torchrun":              "torchrun",
		"time -p torchrun":                              "torchrun", // the shell's own word
		"numactl --cpunodebind=0 -m 0 torchrun":         "torchrun",
		"taskset -c 0-3 chrt -b 0 torchrun":             "torchrun",
		"conda run -n env --no-capture-output torchrun": "torchrun",
		"uv run --with torch torchrun":                  "torchrun",
		"./time torchrun":                               "./time",
		"uv sync":                                       "uv",
		"conda":                                         "conda",
		"$PREFIX torchrun":                              "",
		"nice $N torchrun":                              "",
		"env A=B":                                       "",
		"timeout":                                       "",
		"echo torchrun":                                 "echo",
	} {
		got := ""
		calls := Calls(spec.Command{Shell: line})
		if at := Program(calls[0].Words); at >= 0 {
			got = calls[0].Words[at].Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		words := strings.Fields(line)
		if strings.Contains(line, "$") || strings.HasPrefix(line, "A=") {
			continue // a list is not a shell's
		}
		if at := Program(Literals(words...)); at >= 0 && words[at] != want || at < 0 && want != "" {
			t.Errorf("%s: as a list: %d", line, at)
		}
	}
}

func TestCallsAreFoundWhereverTheyStand(t *testing.T) {
	for text, want := range map[string][]string{
		"a 1 && b 2":                               {"a 1", "b 2"},
		"for i in 1 2; do a $i; done":              {"a $i"},
		"if a; then b; elif c; then d; else e; fi": {"a", "b", "c", "d", "e"},
		"x=$(a 1); (b) | { c; } & ! d":             {"a 1", "b", "c", "d"},
		"time a > log":                             {"a"},
		"A=1 a \\\n 2":                             {"a 2"},
		"a 'x":                                     nil, // no shell's text
		"A=1":                                      nil,
	} {
		list := []string{"bash", "-euo", "pipefail", "-c", text, "name"}
		commands := []spec.Command{{Shell: text}, {Argv: list}}
		if !strings.Contains(text, "'") {
			commands = append(commands, spec.Command{Shell: "bash -euo pipefail -c '" + text + "' name"})
		}
		for _, c := range commands {
			var got []string
			for _, call := range Calls(c) {
				var words []string
				for _, w := range call.Words {
					words = append(words, w.String())
				}
				got = append(got, strings.Join(words, " "))
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", text, d)
			}
		}
	}
}

func TestAShellsTextIsFoundAmongItsOptions(t *testing.T) {
	for line, want := range map[string]int{
		"bash -c T":                       2,
		"/bin/sh -exc T name":             2,
		"bash -x -c T":                    3,
		"bash -o pipefail -c T":           4,
		"bash -euo pipefail -c T":         4,
		"bash -ceuo pipefail T":           3,
		"bash --norc +B -lc T":            4,
		"timeout 60 bash --rcfile f -c T": 6,
		"bash script.sh -c T":             0,
		"bash -x":                         0,
		"bash -c":                         0,
		"python -c T":                     0,
	} {
		at, ok := Script(strings.Fields(line))
		if ok != (want > 0) || ok && at != want {
			t.Errorf("%s: %d, %v", line, at, ok)
		}
	}
}

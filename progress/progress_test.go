package progress

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the goldens anew")

func (r Reading) String() string {
	s := fmt.Sprintf("%d/%d", r.Step, r.Total)
	if r.StepTime > 0 {
		s += fmt.Sprintf(" %.4gs", r.StepTime)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		s += fmt.Sprintf(" %s=%g", name, r.Values[name])
	}
	return s
}

// readings are what a scanner says after each line that tells anything.
func readings(s *Scanner, pieces ...[]byte) []string {
	var out []string
	var l Lines
	take := func(line string) {
		if s.Read(line) {
			if now := s.Now().String(); len(out) == 0 || out[len(out)-1] != now {
				out = append(out, now)
			}
		}
	}
	for _, p := range pieces {
		l.Take(p, take)
	}
	for range 2 { // a rest that stays as it is
		l.Take(nil, take)
	}
	return out
}

// The files in testdata are what the frameworks really printed: Keras 3.13 and
// tf_keras 2.21, Lightning 2.6, transformers 5.24.
func TestBarsOfTheFrameworksAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.out")
	if err != nil || len(files) < 8 {
		t.Fatalf("%v: only %v", err, files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := New(nil)
		var got []string
		if bars, err := os.ReadFile(strings.TrimSuffix(file, ".out") + ".err"); err == nil {
			got = readings(s, bars) // its bars go to standard error
		}
		got = append(got, readings(s, text)...)
		golden := strings.TrimSuffix(file, ".out") + ".want"
		if *update {
			if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

func TestLinesThatTellOfProgress(t *testing.T) {
	tests := map[string]struct {
		lines string
		want  string // the last reading; empty: none
	}{
		"tqdm":                     {" 10%|█         | 50/500 [00:10<01:30,  5.00it/s]", "50/500 0.2s"},
		"tqdm, slow steps":         {" 67%|██████▋   | 2/3 [00:02<00:01,  1.20s/it]", "2/3 1.2s"},
		"tqdm, shortened":          {" 12%|█▏        | 1.20k/10.0k [00:01<00:07, 1.25kit/s]", "1200/10000 0.0008s"},
		"tqdm in signs of ASCII":   {" 40%|####      | 4/10 [00:01<00:02,  2.00it/s, loss=0.25]", "4/10 0.5s loss=0.25"},
		"tqdm of epochs from 1":    {"Epoch 2/3:  50%|█████     | 5/10 [00:01<00:02,  2.00it/s]", "15/30 0.5s epoch=2"},
		"tqdm of Lightning":        {"Epoch 1:  50%|█████     | 5/10 [00:01<00:02,  2.00it/s, v_num=3, train_loss=1e-3]", "5/10 0.5s epoch=1 train_loss=0.001 v_num=3"},
		"tqdm of something else":   {"Downloading:  50%|█████     | 5/10 [00:01<00:02,  2.00it/s]", ""},
		"tqdm of validation":       {"Validation DataLoader 0: 100%|██████████| 2/2 [00:00<00:00, 44.08it/s]", ""},
		"an evaluation below":      {" 10%|█    | 50/500 [00:10<01:30,  5.00it/s]\n 50%|█    | 1/2 [00:10<01:30,  5.00it/s]", "50/500 0.2s"},
		"an evaluation at the end": {"100%|█    | 500/500 [00:10<01:30,  5.00it/s]\n 50%|█    | 1/2 [00:10<01:30,  5.00it/s]", "500/500 0.2s"},
		"one bar an epoch":         {"100%|█    | 9/9 [00:10<01:30,  5.00it/s]\n 50%|█    | 5/9 [00:10<01:30,  5.00it/s]", "5/9 0.2s"},
		"a step":                   {"step 10/100 loss 0.5", "10/100 loss=0.5"},
		"a step with its prefix":   {"2026-01-02 10:00:00 INFO step: 10 of 100, loss=2.5e-1, lr: 0.001", "10/100 loss=0.25 lr=0.001"},
		"a step of an epoch":       {"Epoch [2/5], Step [100/600], Loss: 0.2345", "700/3000 Loss=0.2345 epoch=2"},
		"an epoch":                 {"epoch  3 of 12: loss 0.4123", "3/12 loss=0.4123"},
		"an epoch among steps":     {"step 50/100 loss 0.5\nepoch 1/2 loss 0.4", "50/100 loss=0.4"},
		"an epoch without more":    {"epoch 1/2", ""},
		"a step without an end":    {"step 10 loss 0.5", ""},
		"a step of validation":     {"validation step 10/100 loss 0.5", ""},
		"a path":                   {"saved to /data/step/10/100", ""},
		"a date":                   {"step 2 on 10/12/2026", ""},
		"a test of pytest":         {"tests/test_step.py 10/100", ""},
		"NaN":                      {"step 10/100 loss nan", "10/100 loss=NaN"},
		"a dict of something else": {"{'loss': 0.5}", ""},
		"a dict of the Trainer":    {"{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 1.0}", "0/0 epoch=1 learning_rate=5e-05 loss=0.5"},
		"Keras without epochs":     {"12/100 ━━━━━━━━━━━━━━━━━━━━ 2s 20ms/step - accuracy: 0.5 - loss: 0.69", "12/100 0.02s accuracy=0.5 loss=0.69"},
		"Keras, unknown total":     {"Epoch 1/3\n     12/Unknown 2s 20ms/step - loss: 0.69", "12/0 0.02s epoch=1 loss=0.69"},
		"Keras, whose time is long": {"Epoch 1/3\n  12/100 ━━━━━━━━━━━━━━━━━━━━ 1:02:03 20s/step - loss: 0.69",
			"12/300 20s epoch=1 loss=0.69"},
		"Keras 2, on the way": {"Epoch 2/5\n 12/100 [==>...........................] - ETA: 1:02 - loss: 0.69", "112/500 epoch=2 loss=0.69"},
	}
	for name, tt := range tests {
		got := ""
		if all := readings(New(nil), []byte(tt.lines)); len(all) > 0 {
			got = all[len(all)-1]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestOwnPatternsStandInPlaceOfTheBuiltIn(t *testing.T) {
	var own []*Pattern
	for _, text := range []string{`it (?P<step>\d+)/(?P<total>\d+) l=(?P<loss>\S+) (?P<step_time>[\d.]+)s`, `val (?P<val_loss>\S+)`,
		`e(?P<epoch>\d+)/(?P<epochs>\d+) (?P<step>\d+)/(?P<total>\d+)`} {
		p, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, p)
	}
	got := readings(New(own), []byte("step 1/2 loss 3\nit 3/9 l=0.5, 0.25s\nval 0.75\nit 4/9 l=? 0.5s\ne2/3 4/10\n"))
	want := []string{"3/9 0.25s loss=0.5", "3/9 0.25s loss=0.5 val_loss=0.75", "4/9 0.5s loss=0.5 val_loss=0.75",
		"14/30 0.5s epoch=2 loss=0.5 val_loss=0.75"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, text := range []string{`step (\d+)`, `(?P<step>`, `(?=x)(?P<step>\d+)`} {
		if _, err := Compile(text); err == nil {
			t.Errorf("%s: compiled", text)
		}
	}
}

// How many steps there are may stand in a line of its own, and no line counts it
// twice.
func TestATotalOfAnotherLineIsKeptAsItIs(t *testing.T) {
	var own []*Pattern
	for _, text := range []string{`trains (?P<total>\d+) steps`, `epoch (?P<epoch>\d+)/(?P<epochs>\d+) at (?P<step>\d+)`} {
		p, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, p)
	}
	got := readings(New(own), []byte("trains 100 steps\nepoch 1/2 at 3\nepoch 2/2 at 60\n"))
	if d := cmp.Diff([]string{"0/100", "3/100 epoch=1", "60/100 epoch=2"}, got); d != "" {
		t.Error(d)
	}
}

func TestATimeThatCanBeNoneIsNotKnown(t *testing.T) {
	p, err := Compile(`it (?P<step>\d+) (?P<step_time>\S+)`)
	if err != nil {
		t.Fatal(err)
	}
	bar := " 10%|█         | 50/500 [00:10<01:30,  0." + strings.Repeat("0", 310) + "1it/s]"
	for _, s := range []struct {
		*Scanner
		line string
	}{{New([]*Pattern{p}), "it 4 nan"}, {New([]*Pattern{p}), "it 4 inf"}, {New([]*Pattern{p}), "it 4 -1"}, {New(nil), bar}} {
		if told := s.Read(s.line); !told || s.Now().Step == 0 || s.Now().StepTime != 0 {
			t.Errorf("%.40s: %v %+v", s.line, told, s.Now())
		}
	}
}

// However the output is torn into pieces, the same lines come out.
func TestPiecesDoNotChangeTheLines(t *testing.T) {
	text, err := os.ReadFile("testdata/keras3.out")
	if err != nil {
		t.Fatal(err)
	}
	want := readings(New(nil), text)
	rapid.Check(t, func(t *rapid.T) {
		var pieces [][]byte
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if d := cmp.Diff(want, readings(New(nil), pieces...)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWhatFollowsAGapIsTorn(t *testing.T) {
	var l Lines
	var got []string
	take := func(line string) { got = append(got, line) }
	l.Take([]byte("one\ntw"), take)
	l.Skip()
	l.Take([]byte("ree\nfour\r"), take)
	l.Take([]byte(strings.Repeat("x", 2*lineMost)+"\nfive"), take)
	for range 3 {
		l.Take(nil, take)
	}
	if d := cmp.Diff([]string{"one", "four", "five"}, got); d != "" {
		t.Error(d)
	}
}

func TestPaceIsThatOfTheLastSeconds(t *testing.T) {
	var p Pace
	at := time.Unix(0, 0)
	var got []string
	see := func(step int64, after time.Duration) {
		at = at.Add(after)
		got = append(got, fmt.Sprintf("%.3f", p.Step(step, at)))
	}
	see(0, 0)
	see(10, time.Second)
	see(10, time.Second) // nothing new
	see(12, time.Second)
	see(1, time.Second) // the next epoch
	see(2, 10*time.Minute)
	if d := cmp.Diff([]string{"0.000", "0.100", "0.100", "0.212", "0.212", "600.000"}, got); d != "" {
		t.Error(d)
	}
}

func FuzzScanner(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.out")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := New(nil)
		var l Lines
		l.Take(text, func(line string) {
			if strings.ContainsAny(line, "\n\r\b\x1b") {
				t.Errorf("not clean: %q", line)
			}
			s.Read(line)
		})
		r := s.Now()
		if r.Step < 0 || r.Total < 0 || r.StepTime < 0 || len(r.Values) > valuesMost {
			t.Errorf("%+v", r)
		}
	})
}

// A look is at 64 KiB of output at most, so this many bytes a second is what two
// looks a second at output that tells nothing cost.
func BenchmarkScan(b *testing.B) {
	line := "2026-01-02 10:00:00,123 INFO worker: the batch of 128 items was read from /data/part-00017 in 12 ms\n"
	text := []byte(strings.Repeat(line, 64<<10/len(line)))
	s := New(nil)
	var l Lines
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l.Take(text, func(line string) { s.Read(line) })
	}
}

package progress

import (
	"strconv"
	"strings"
)

// bar is which of a program's bars is the training's. tqdm draws many: of
// downloads, of data, of validation. One that names an epoch or a training is
// it; of those without a name it is the first, and when that is full the next one
// that is not shorter (the Hugging Face Trainer draws those of its evaluation
// below its own).
//
//	Epoch 0:  40%|████      | 4/10 [00:01<00:02,  3.20it/s, v_num=0, train_loss=0.5]
//	 10%|█         | 50/500 [00:10<01:30,  5.00it/s]
//	Epoch 0/4 ━━━━━━━━━━━━━━━━━ 4/10 0:00:01 • 0:00:02 3.20it/s v_num: 0.000 train_loss: 0.500
type bar struct {
	named bool  // one with a name was seen: those without don't count
	total int64 // of the one without a name; 0: none yet
	full  bool  // and whether that one is
	zero  bool  // epochs are counted from 0
}

var (
	tqdmBar  = lazy(`^(?:(.*?):?\s+|\s*)\d+%\|[^|]*\|\s*([\d.]+[kMGT]?)/([\d.]+[kMGT]?) \[([^\]]*)\]`)
	tqdmRate = lazy(`(?:<[^,]*|^),\s*([\d.]+)([kM]?)(s/)?[^,\]]*`)
	richBar  = lazy(`^(.*?)\s+[━╸╺]+\s+(\d+)/(\d+)\s+[\d:]+ • [\d:-]+\s+([\d.]+)it/s\s*(.*)$`)
	training = lazy(`(?i)^(?:train|training|fit|fitting|steps?)\b`)
	anEpoch  = lazy(`(?i)\bepoch\W{0,3}(\d+)(?:\s*(?:/|of)\s*(\d+))?`)
)

func maybeBar(line string) bool { return strings.Contains(line, "%|") }

func (s *Scanner) readBar(line string) bool {
	m := tqdmBar().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	step, total := scaled(m[2]), scaled(m[3])
	if !s.of(m[1], step, total, false) {
		return false
	}
	if t := tqdmRate().FindStringSubmatch(m[4]); t != nil {
		s.rate(t[1], t[2], t[3] != "")
	}
	s.now.values(equalPairs(), m[4])
	return true
}

func maybeRich(line string) bool { return strings.Contains(line, " • ") }

func (s *Scanner) readRich(line string) bool {
	m := richBar().FindStringSubmatch(line)
	if m == nil || !s.of(strings.TrimSpace(m[1]), whole(m[2]), whole(m[3]), true) {
		return false
	}
	s.rate(m[4], "", false)
	s.now.values(colonPairs(), m[5])
	return true
}

// of says that a bar of this name is the training's, and takes its step. last
// says that the number of epochs behind the name is that of the last one,
// counted from 0, as Lightning gives it with rich.
func (s *Scanner) of(name string, step, total int64, last bool) bool {
	b := &s.bar
	m := anEpoch().FindStringSubmatch(name)
	switch {
	case m != nil:
		epoch, epochs := whole(m[1]), whole(m[2])
		s.now.set("epoch", float64(epoch))
		b.zero = b.zero || epoch == 0 || last
		if b.zero {
			epoch++
		}
		if last && m[2] != "" {
			epochs++
		}
		b.named = true
		s.now.advance(step, total, epoch, epochs)
	case training().MatchString(name):
		b.named = true
		s.now.advance(step, total, 0, 0)
	case name != "" || b.named || b.total > 0 && total != b.total && (!b.full || total < b.total):
		return false
	default:
		b.total, b.full = total, step >= total
		s.now.advance(step, total, 0, 0)
	}
	s.counts = true
	return true
}

// rate takes the speed of a bar: steps a second, or seconds a step.
func (s *Scanner) rate(number, scale string, inverse bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f <= 0 {
		return
	}
	switch scale {
	case "k":
		f *= 1e3
	case "M":
		f *= 1e6
	}
	if !inverse {
		f = 1 / f
	}
	s.now.took(f)
}

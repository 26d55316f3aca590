package progress

import "strings"

// keras is what its lines before this one have said.
//
//	Epoch 2/5
//	 12/100 ━━━━━━━━━━━━━━━━━━━━ 2s 20ms/step - accuracy: 0.5 - loss: 0.69     Keras 3
//	 12/100 [==>...........................] - ETA: 2s - loss: 0.69             Keras 2
//	100/100 - 2s - 20ms/step - loss: 0.69                                        verbose=2
//
// Evaluation and prediction draw the same bars: they come when the epoch's own
// bar is full, and don't count.
type keras struct {
	epoch, epochs int64
	full          int64 // the total of the bar that is full, until the next epoch
}

var (
	kerasEpoch = lazy(`^Epoch (\d+)/(\d+)$`)
	kerasBar   = lazy(`^\s*(\d+)/(\d+|Unknown)\s+(?:━+ |\[[=>.]+\] - |- )?(?:(?:ETA: )?[\d:]+(?:ms|us|µs|h|m|s)?|ETA: \S+)(?: |$)(.*)$`)
	kerasTime  = lazy(`(\d+(?:\.\d+)?)(ms|us|µs|s|min)/step`)
)

func maybeKeras(line string) bool {
	return strings.HasPrefix(line, "Epoch ") || strings.Contains(line, "/step") || strings.Contains(line, "ETA: ")
}

func (s *Scanner) readKeras(line string) bool {
	k := &s.keras
	if m := kerasEpoch().FindStringSubmatch(line); m != nil {
		*k = keras{epoch: whole(m[1]), epochs: whole(m[2])}
		s.now.set("epoch", float64(k.epoch))
		return true
	}
	m := kerasBar().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	step, total := whole(m[1]), whole(m[2])
	if k.full > 0 && (step != total || total != k.full) {
		return false
	}
	if total > 0 && step >= total {
		k.full = total
	}
	s.now.advance(step, total, k.epoch, k.epochs)
	s.counts = true
	if t := kerasTime().FindStringSubmatch(m[3]); t != nil {
		s.now.took(timeOf(t[1], t[2]))
	}
	s.now.values(colonPairs(), m[3])
	return true
}

package progress

import "strings"

// The lines of the Hugging Face Trainer, newer ones with quotes around numbers:
//
//	{'loss': 0.5, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 1.0}
//
// They have no step: that is in the bar.
var dict = lazy(`^\{'[^'{}]+': [^{}]*'epoch': '?[\d.]+'?\}$`)

func maybeDict(line string) bool { return strings.HasPrefix(line, "{'") }

func (s *Scanner) readDict(line string) bool {
	if !dict().MatchString(line) {
		return false
	}
	for _, m := range quotedPairs().FindAllStringSubmatch(line, -1) {
		// How fast the evaluation was says nothing of the training.
		if !strings.HasSuffix(m[1], "_runtime") && !strings.HasSuffix(m[1], "_per_second") {
			s.now.values(quotedPairs(), m[0])
		}
	}
	return true
}

// What plain training loops print, if it names its steps and how many there are:
//
//	step 10/100 loss 0.5
//	Epoch [1/5], Step [100/600], Loss: 0.2345
//	epoch 3 of 12: loss 0.4
//
// A line of epochs alone counts them, unless other lines count steps.
var (
	aStep  = lazy(`(?i)(?:^|[\s,|;(\[])(?:global[_ ]?)?(?:step|iter|iteration|batch)\s*[:=]?\s*\[?\s*(\d+)\s*(?:/|of)\s*(\d+)\s*\]?(?:[\s,;:|)-]|$)`)
	epochs = lazy(`(?i)(?:^|[\s,|;(])epoch\s*[:=]?\s*\[?\s*(\d+)\s*(?:/|of)\s*(\d+)\s*\]?(?:[\s,;:|)-]|$)`)
	others = lazy(`(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|predict|predicting)\b`)
)

// maybeStep wants a number of so many, which few lines have, before it looks for
// words.
func maybeStep(line string) bool {
	return (ratio(line, "/") || ratio(line, "of")) && (strings.Contains(line, "tep") || strings.Contains(line, "poch") ||
		strings.Contains(line, "ter") || strings.Contains(line, "atch") || strings.Contains(line, "STEP") || strings.Contains(line, "EPOCH"))
}

// ratio says that the word stands between two numbers somewhere in the line.
func ratio(line, word string) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for {
		before, after, found := strings.Cut(line, word)
		if !found {
			return false
		}
		left, right := strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
		if left != "" && right != "" && digit(left[len(left)-1]) && digit(right[0]) {
			return true
		}
		line = after
	}
}

func (s *Scanner) readStep(line string) bool {
	epoch := epochs().FindStringSubmatch(line)
	step := aStep().FindStringSubmatchIndex(line)
	switch {
	case step != nil && !others().MatchString(line[:step[0]]):
		n, total := whole(line[step[2]:step[3]]), whole(line[step[4]:step[5]])
		if total == 0 || n > total {
			return false
		}
		if epoch != nil {
			s.now.set("epoch", float64(whole(epoch[1])))
			s.now.advance(n, total, whole(epoch[1]), whole(epoch[2]))
		} else {
			s.now.advance(n, total, 0, 0)
		}
		s.counts = true
		s.now.values(knownPairs(), line)
		return true
	case epoch != nil && knownPairs().MatchString(line) && whole(epoch[1]) <= whole(epoch[2]):
		if !s.counts {
			s.now.advance(whole(epoch[1]), whole(epoch[2]), 0, 0)
		}
		s.now.values(knownPairs(), line)
		return true
	}
	return false
}

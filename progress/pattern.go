package progress

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Pattern is a regular expression whose named groups are what a line tells:
// step, total, epoch, epochs, step_time (seconds), and any other name for a
// number worth seeing.
type Pattern struct {
	re    *regexp.Regexp
	names []string
}

// Compile reads a pattern in the syntax of RE2.
func Compile(text string) (*Pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{re: re, names: re.SubexpNames()}
	if strings.Join(p.names, "") == "" {
		return nil, errors.New("names no group: nothing would be read")
	}
	return p, nil
}

// read takes what a line tells, and says whether it told anything. A group that
// holds no number is passed over.
func (p *Pattern) read(line string, r *Reading) bool {
	m := p.re.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	told := false
	at := map[string]int64{}
	for i, name := range p.names {
		v, err := strconv.ParseFloat(strings.Trim(m[i], " ,;:)]}%"), 64)
		if name == "" || err != nil {
			continue
		}
		told = true
		switch {
		case name == "step_time":
			r.took(v)
		case name == "step" || name == "total" || name == "epoch" || name == "epochs":
			if v >= 0 && v <= math.MaxInt32*1000 {
				at[name] = int64(v)
			}
			if name == "epoch" {
				r.set(name, v)
			}
		default:
			r.set(name, v)
		}
	}
	step, counts := at["step"]
	total, bounded := at["total"]
	switch {
	case counts && bounded:
		r.advance(step, total, at["epoch"], at["epochs"])
	case counts:
		r.Step = step
	case bounded: // a line of its own says how many there are
		r.Total = total
	}
	return told
}

// Package progress reads from what a program prints how far it is: lines of
// output come in, steps and numbers go out. It knows the bars and lines of
// Keras, PyTorch Lightning, the Hugging Face Trainer, tqdm and what plain
// training loops print, or the patterns of a job file in their place.
//
//	Split     output, as it grows  →  lines as a terminal would show them
//	Scanner   line after line      →  Reading: the newest step, total and values
//	Pace      steps and times      →  how long a step takes now
//
// What is no line of these is passed over: output can never harm a task, and a
// wrong number is worse than none, so only what is certain is taken.
package progress

import (
	"maps"
	"math"
)

// Reading is what the lines so far say.
type Reading struct {
	Step, Total int64              // 0: not told
	Values      map[string]float64 // loss, accuracy, epoch, …
	StepTime    float64            // seconds, as the program itself says; 0: it doesn't
}

// Bounds of what lines can make us keep.
const (
	valuesMost = 32
	nameSize   = 64
)

// Scanner reads the lines of one task. The zero value has the built-in formats.
type Scanner struct {
	patterns []*Pattern // in place of the built-in formats, if any
	now      Reading
	keras    keras
	bar      bar
	counts   bool // lines have told steps: what counts epochs alone is no step
}

// New is a scanner for patterns; without any it has the built-in formats.
func New(patterns []*Pattern) *Scanner { return &Scanner{patterns: patterns} }

// Read takes a line and says whether it told anything. The line is as Split
// gives it.
func (s *Scanner) Read(line string) bool {
	if len(s.patterns) > 0 {
		for _, p := range s.patterns {
			if p.read(line, &s.now) {
				return true
			}
		}
		return false
	}
	for _, f := range formats {
		if f.maybe(line) {
			if f.read(s, line) {
				return true
			}
		}
	}
	return false
}

// Now is what is known after the lines so far.
func (s *Scanner) Now() Reading {
	r := s.now
	r.Values = maps.Clone(r.Values)
	return r
}

// format is one way in which programs tell how far they are. maybe is a quick
// look that most lines fail.
type format struct {
	maybe func(line string) bool
	read  func(s *Scanner, line string) bool
}

// formats are tried in this order.
var formats = []format{
	{maybeKeras, (*Scanner).readKeras},
	{maybeBar, (*Scanner).readBar},
	{maybeRich, (*Scanner).readRich},
	{maybeDict, (*Scanner).readDict},
	{maybeStep, (*Scanner).readStep},
}

// set keeps a value, within bounds.
func (r *Reading) set(name string, value float64) {
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	if _, known := r.Values[name]; len(name) <= nameSize && (known || len(r.Values) < valuesMost) {
		r.Values[name] = value
	}
}

// took notes how long a step takes, in seconds; what can be no time says that it
// is not known.
func (r *Reading) took(seconds float64) {
	r.StepTime = 0
	if seconds > 0 && !math.IsInf(seconds, 0) {
		r.StepTime = seconds
	}
}

// advance notes a step of an epoch. Where it is known how many epochs there are,
// steps are counted through all of them, so that the job has one way to go;
// else they are those of the epoch.
func (r *Reading) advance(step, total int64, epoch, epochs int64) {
	if epochs > 0 && total > 0 && epoch > 0 && epoch <= epochs {
		step, total = (epoch-1)*total+step, epochs*total
	}
	r.Step, r.Total = step, total
}

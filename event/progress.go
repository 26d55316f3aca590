package event

import (
	"encoding/json"
	"fmt"
	"math"
)

// progress is Progress without its methods.
type progress Progress

type progressJSON struct {
	*progress
	Values map[string]number `json:"values,omitempty"`
}

// MarshalJSON writes numbers that JSON has no word for as strings: a training
// that diverges reports NaN, and that is worth keeping. A time that is no number
// says nothing: it is left out, since nothing that a task reports may keep a
// journal from being written.
func (p Progress) MarshalJSON() ([]byte, error) {
	if math.IsNaN(p.StepTime) || math.IsInf(p.StepTime, 0) {
		p.StepTime = 0
	}
	out := progressJSON{progress: (*progress)(&p)}
	if p.Values != nil {
		out.Values = make(map[string]number, len(p.Values))
		for k, v := range p.Values {
			out.Values[k] = number(v)
		}
	}
	return encode(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Progress) UnmarshalJSON(b []byte) error {
	in := progressJSON{progress: (*progress)(p)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.Values != nil {
		p.Values = make(map[string]float64, len(in.Values))
		for k, v := range in.Values {
			p.Values[k] = float64(v)
		}
	}
	return nil
}

type number float64

func (n number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(f)
	}
}

func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	switch string(b) {
	case `"NaN"`:
		f = math.NaN()
	case `"Infinity"`:
		f = math.Inf(1)
	case `"-Infinity"`:
		f = math.Inf(-1)
	default:
		if err := json.Unmarshal(b, &f); err != nil {
			return fmt.Errorf("not a number: %w", err)
		}
	}
	*n = number(f)
	return nil
}

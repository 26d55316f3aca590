package event

import (
	"testing"
	"time"
)

func TestPaceLeftAndLoss(t *testing.T) {
	for want, p := range map[string]Progress{
		"":       {},
		"250µs":  {StepTime: 0.00025},
		"20.5ms": {StepTime: 0.0205},
		"1.25s":  {StepTime: 1.25},
		"2m5s":   {StepTime: 125.4},
	} {
		if got := p.Pace(); got != want {
			t.Errorf("%v: %q, want %q", p.StepTime, got, want)
		}
	}
	if got := (Progress{Step: 4, Total: 10, StepTime: 2}).Left(); got != 12*time.Second {
		t.Errorf("%v left", got)
	}
	for _, p := range []Progress{{Step: 4, StepTime: 2}, {Step: 10, Total: 10, StepTime: 2}, {Step: 4, Total: 10}, {Total: 10, StepTime: 2}} {
		if got := p.Left(); got != 0 {
			t.Errorf("%+v: %v left", p, got)
		}
	}
	for name, values := range map[string]map[string]float64{
		"loss":       {"loss": 1, "a_loss": 0},
		"train_loss": {"train_loss": 1, "val_loss": 0, "acc": 0},
		"val_loss":   {"val_loss": 1, "acc": 0},
	} {
		if v, ok := (Progress{Values: values}).Loss(); !ok || v != 1 {
			t.Errorf("%s: %v %v", name, v, ok)
		}
	}
	if _, ok := (Progress{Values: map[string]float64{"acc": 1}}).Loss(); ok {
		t.Error("accuracy is no loss")
	}
}

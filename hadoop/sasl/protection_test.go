package sasl

import "testing"

func TestParseProtection(t *testing.T) {
	tests := []struct {
		in   string
		want Protection
		bad  bool
	}{
		{in: "", want: Authentication},
		{in: "authentication", want: Authentication},
		{in: "integrity", want: Integrity},
		{in: " Privacy ", want: Privacy},
		{in: "privacy, integrity", want: Integrity},
		{in: "privacy,integrity,authentication", want: Authentication},
		{in: "secret", bad: true},
	}
	for _, tt := range tests {
		got, err := ParseProtection(tt.in)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q: got %v, %v", tt.in, got, err)
		}
	}
}

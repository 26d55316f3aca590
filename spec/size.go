package spec

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Size is a number of bytes. It is written with a binary unit: 4GiB, 4G and 4g
// are the same. A bare number is refused, since systems disagree on its unit,
// and so is GB, which is 10^9 bytes to some and 2^30 to others.
type Size int64

// The units, smallest first; each is 1024 times the one before.
const sizeUnits = "BKMGTP"

var sizeText = lazy(`^([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?([A-Za-z]*)$`)

// ParseSize reads a size. The error says what is wrong and what to write.
func ParseSize(text string) (Size, error) {
	const what = "a size"
	m := sizeText().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, parseWhole(text, what, "write a number and K, M, G, T or P, as in 4GiB")
	}
	number, unit := m[1], m[2]
	if unit == "" {
		return 0, bareSize(number)
	}
	upper := strings.ToUpper(unit)
	power := strings.Index(sizeUnits, upper[:1])
	switch {
	case power > 0 && (upper[1:] == "" || upper[1:] == "IB"), upper == "B":
	case power > 0 && upper[1:] == "B":
		return 0, &faulty{fmt.Sprintf("%s: some read %s as a power of 1000, some as a power of 1024", text, unit),
			fmt.Sprintf("write %s%ciB for the power of 1024", number, sizeUnits[power])}
	default:
		return 0, &faulty{fmt.Sprintf("%s: unit %s is unknown", text, quote(unit)), "units are B, KiB, MiB, GiB, TiB, PiB"}
	}
	exact, ok := new(big.Rat).SetString(number)
	if !ok || len(number) > 30 {
		return 0, parseWhole(text, what, "")
	}
	exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(10*power))))
	if exact.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0 {
		return 0, &faulty{text + " is more than any machine has", ""}
	}
	whole := new(big.Int).Quo(exact.Num(), exact.Denom())
	return Size(whole.Int64()), nil
}

func bareSize(number string) error {
	hint := fmt.Sprintf("write %sMiB or %sB", number, number)
	if f, err := strconv.ParseFloat(number, 64); err == nil && f < 1024 {
		hint = fmt.Sprintf("write %sGiB, %sMiB or %sB", number, number, number)
	}
	return &faulty{fmt.Sprintf("%s has no unit: YARN and Slurm read %s MiB, Kubernetes and PBS %s bytes", number, number, number), hint}
}

// String prints the largest unit that divides the size.
func (s Size) String() string {
	n, power := int64(s), 0
	for n != 0 && n%1024 == 0 && power < len(sizeUnits)-1 {
		n, power = n/1024, power+1
	}
	unit := sizeUnits[power : power+1]
	if power > 0 {
		unit += "iB"
	}
	return strconv.FormatInt(n, 10) + unit
}

// Rough is the size to two digits behind the point, for people: a machine's
// memory is never a round number, and String would print all of its digits.
func (s Size) Rough() string {
	v, power := float64(s), 0
	for v >= 1024 && power < len(sizeUnits)-1 {
		v, power = v/1024, power+1
	}
	unit := sizeUnits[power : power+1]
	if power > 0 {
		unit += "iB"
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + unit
}

// MarshalText prints a size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSize(string(b))
	return err
}

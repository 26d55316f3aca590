package sasl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Protection is what a connection is guarded against, the weakest first.
type Protection int

// The levels of hadoop.rpc.protection.
const (
	Authentication Protection = iota // who calls is proven once, nothing after
	Integrity                        // and everything is signed
	Privacy                          // and encrypted
)

var protections = []string{"authentication", "integrity", "privacy"}

func (p Protection) String() string {
	if p < 0 || int(p) >= len(protections) {
		return fmt.Sprintf("protection %d", int(p))
	}
	return protections[p]
}

// ErrProtection says that a server offers less than what was asked for, or sent
// something outside what was agreed.
var ErrProtection = errors.New("not protected enough")

// ParseProtection reads the value of hadoop.rpc.protection, a list of levels of
// which any will do: the weakest counts. An empty value is Authentication.
func ParseProtection(value string) (Protection, error) {
	least, _, err := ParseProtections("hadoop.rpc.protection", value)
	return least, err
}

// ParseProtections reads a list of levels of which any will do, the value of a
// key, and gives the weakest and the strongest. An empty value is Authentication.
func ParseProtections(key, value string) (least, most Protection, err error) {
	found := false
	for _, word := range strings.Split(value, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		i := slices.Index(protections, word)
		if i < 0 {
			return 0, 0, fmt.Errorf("%s: %q is none of %s", key, word, strings.Join(protections, ", "))
		}
		level := Protection(i)
		if !found {
			least, most, found = level, level, true
		}
		least, most = min(least, level), max(most, level)
	}
	return least, most, nil
}

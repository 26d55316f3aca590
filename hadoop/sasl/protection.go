package sasl

import (
	"errors"
	"fmt"
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
	least, found := Privacy, false
	for _, word := range strings.Split(value, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		level := -1
		for i, name := range protections {
			if name == word {
				level = i
			}
		}
		if level < 0 {
			return 0, fmt.Errorf("hadoop.rpc.protection: %q is none of %s", word, strings.Join(protections, ", "))
		}
		least, found = min(least, Protection(level)), true
	}
	if !found {
		return Authentication, nil
	}
	return least, nil
}

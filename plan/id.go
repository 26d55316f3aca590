package plan

import (
	"encoding/base32"
	"fmt"
	"strings"
)

const (
	idPrefix  = "m-"
	idLetters = 10
	// IDBytes is how many random bytes NewID takes: enough for its 50 bits.
	IDBytes = 7
)

// idCode has lower-case letters and the digits 2 to 7 only: an id is a legal
// DNS label, file name, tag and comment everywhere.
var idCode = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewID makes a job's id, such as m-7k3fq2aaxz, of random bytes.
func NewID(random [IDBytes]byte) string {
	return idPrefix + idCode.EncodeToString(random[:])[:idLetters]
}

// ParseID checks that s is a job's id and returns it in its one spelling.
func ParseID(s string) (string, error) {
	id := strings.ToLower(strings.TrimSpace(s))
	letters, ok := strings.CutPrefix(id, idPrefix)
	if ok && len(letters) == idLetters && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz234567") == "" {
		return id, nil
	}
	return "", fmt.Errorf("%s: not a job id: write m- and %d letters or digits 2 to 7, as in m-7k3fq2aaxz", s, idLetters)
}

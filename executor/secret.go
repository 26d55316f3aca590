package executor

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// secret makes the words that a launch asks for as ${muster.secret}: one for each
// incarnation, the same wherever it is asked for, known to nobody outside this
// executor until the task is told it.
type secret struct {
	once sync.Once
	key  string
}

// of is the word of the incarnation that has this directory.
func (s *secret) of(dir string) string {
	s.once.Do(func() { s.key = rand.Text() })
	sum := hmac.New(sha256.New, []byte(s.key))
	_, _ = sum.Write([]byte(dir))
	return hex.EncodeToString(sum.Sum(nil)[:20])
}

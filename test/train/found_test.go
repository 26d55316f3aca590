//go:build frameworks

package train

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// found demands of an example whose answer is known that each of its n
// processes has found it once: the weights 1, 2, 3 and so on, of which its own
// data shows one only.
func found(t testing.TB, log, word string, n int) {
	t.Helper()
	var answer []string
	for i := range n {
		answer = append(answer, strconv.Itoa(i+1)+".0")
	}
	for i := range n {
		line := fmt.Sprintf("%s %d of %d: weights [%s]\n", word, i, n, strings.Join(answer, ", "))
		if got := strings.Count(log, line); got != 1 {
			t.Errorf("%q was printed %d times:\n%s", strings.TrimSpace(line), got, log)
		}
	}
}

package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A job is written down as JSON, which holds text and not any bytes. What is no
// text would arrive changed, so it is told: an argument is refused, a variable
// that happens to be in the environment is only warned of.

// checkArgs refuses arguments that are not UTF-8.
func checkArgs(args []string) error {
	for _, arg := range args {
		if i := notText(arg); i >= 0 {
			return faultf(exitUsage, "%s: is not UTF-8: byte 0x%02x", printable([]byte(arg)), arg[i]).
				hint("put it into a script; the name of a file may be found by a pattern there")
		}
	}
	return nil
}

// foreignBytes warns of variables whose values are not UTF-8.
func foreignBytes(environ []string) string {
	var names []string
	for _, v := range environ {
		if i := notText(v); i >= 0 {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, printable([]byte(name)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: not UTF-8 in your environment: tasks see \uFFFD in place of such bytes", strings.Join(names, ", "))
}

// notText is where s stops to be UTF-8, or -1.
func notText(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

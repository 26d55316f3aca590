package spec

import (
	"fmt"
	"strings"
	"unicode"
)

// lookalike is a sign that copying from a page or a word processor puts where
// ASCII was meant. It is never replaced in silence: the author is told.
type lookalike struct {
	sign  rune
	name  string
	ascii string
}

var lookalikes = []lookalike{
	{'‐', "hyphen", "-"}, {'‑', "non-breaking hyphen", "-"}, {'‒', "figure dash", "-"}, {'–', "en dash", "-"},
	{'—', "em dash", "-"}, {'―', "horizontal bar", "-"}, {'−', "minus sign", "-"}, {'－', "full-width hyphen", "-"},
	{'“', "left double quotation mark", `"`}, {'”', "right double quotation mark", `"`},
	{'„', "low double quotation mark", `"`}, {'«', "left guillemet", `"`}, {'»', "right guillemet", `"`},
	{'‘', "left single quotation mark", "'"}, {'’', "right single quotation mark", "'"}, {'‚', "low single quotation mark", "'"},
	{'\u00a0', "no-break space", " "}, {'\u202f', "narrow no-break space", " "}, {'\u2007', "figure space", " "},
	{'\u3000', "ideographic space", " "}, {'\u2009', "thin space", " "}, {'\u200b', "zero width space", ""},
	{'\ufeff', "byte-order mark", ""}, {'\u00ad', "soft hyphen", ""},
	{'…', "ellipsis", ".."}, {'：', "full-width colon", ":"}, {'，', "full-width comma", ","}, {'％', "full-width percent sign", "%"},
	{'＝', "full-width equals sign", "="},
}

// findLookalike returns the first look-alike of a text.
func findLookalike(text string) (lookalike, bool) {
	for _, r := range text {
		if l, ok := lookalikeOf(r); ok {
			return l, true
		}
	}
	return lookalike{}, false
}

func lookalikeOf(r rune) (lookalike, bool) {
	if r < 0x80 {
		return lookalike{}, false
	}
	for _, l := range lookalikes {
		if l.sign == r {
			return l, true
		}
	}
	if r >= '０' && r <= '９' {
		return lookalike{r, "full-width digit", string('0' + r - '０')}, true
	}
	return lookalike{}, false
}

// toASCII replaces every look-alike of a text.
func toASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if l, ok := lookalikeOf(r); ok {
			b.WriteString(l.ascii)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (l lookalike) String() string {
	if unicode.IsGraphic(l.sign) && !unicode.IsSpace(l.sign) {
		return fmt.Sprintf("%c (U+%04X, %s)", l.sign, l.sign, l.name)
	}
	return fmt.Sprintf("U+%04X (%s)", l.sign, l.name)
}

// say names the sign and proposes the ASCII text.
func (l lookalike) say(text string) string {
	return fmt.Sprintf("%v is not ASCII: write %s", l, strings.TrimSpace(toASCII(text)))
}

// checkScalar reports look-alikes where free text may not have them: quotes
// around a whole value, which YAML does not take as quotes.
func (r *reader) checkScalar(n *node, path string) bool {
	if n.style != plain {
		return true
	}
	first := []rune(n.text + " ")[0]
	l, ok := lookalikeOf(first)
	if !ok || !strings.Contains(`"'`, l.ascii) || l.ascii == "" {
		return true
	}
	r.report(n.at, path, fmt.Sprintf("%s begins with %v, which is no quote to YAML", quote(n.text), l), "write "+toASCII(n.text))
	return false
}

// checkCommand reports options whose dash is no dash, and blanks that no shell
// splits at. Typographic quotes in a command are left alone where they stand
// inside ASCII quotes, since they may be text.
func (r *reader) checkCommand(n *node, path, text string) {
	inside := rune(0)
	start := true
	for i, s := range text {
		l, odd := lookalikeOf(s)
		switch {
		case inside != 0:
			if s == inside {
				inside = 0
			}
		case s == '\'' || s == '"':
			inside = s
		case odd && (l.ascii == " " || l.ascii == "" || start && strings.Contains(`-"'`, l.ascii)):
			word := text[i:]
			if end := strings.IndexFunc(word, unicode.IsSpace); end > 0 {
				word = word[:end]
			}
			hint := "write " + toASCII(word)
			if l.ascii == "-" {
				hint = fmt.Sprintf("write %s or -%s", toASCII(word), toASCII(word))
			} else if l.ascii == " " || l.ascii == "" {
				hint = "write " + strings.TrimSpace(toASCII(text))
			}
			r.report(n.at, path, fmt.Sprintf("%s: %v is not the ASCII sign it looks like", quote(strings.TrimSpace(word)), l), hint)
			return
		}
		start = s == ' ' || s == '\n' || s == '\t' || s == '='
	}
}

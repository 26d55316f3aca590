package python

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// follow reads what uv and pip print, and says in a few words what they do.
type follow struct {
	total, done int
}

var (
	countLine = regexp.MustCompile(`^(Resolved|Prepared|Installed) (\d+) packages?\b`) // uv
	uvLine    = regexp.MustCompile(`^ *(Downloading|Building|Downloaded|Built) (.+)$`)
	pipLine   = regexp.MustCompile(`^ *(Collecting|Downloading|Processing|Using cached|Building wheel for|Created wheel for) (\S+)(.*)$`)
	sizeTail  = regexp.MustCompile(`\(([0-9.]+ ?[kKMGT]?i?B)\)`)
)

// line gives what a line says, or nothing.
func (f *follow) line(l string) string {
	if m := countLine.FindStringSubmatch(l); m != nil {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return ""
		}
		if m[1] == "Resolved" {
			f.total = n
			return "resolved " + packages(n)
		}
		return strings.ToLower(m[1]) + " " + packages(n)
	}
	if list, ok := strings.CutPrefix(l, "Installing collected packages: "); ok {
		return "installing " + packages(strings.Count(list, ",")+1)
	}
	if strings.HasPrefix(l, "  ") || !strings.HasPrefix(l, " ") {
		if m := pipLine.FindStringSubmatch(l); m != nil && strings.Contains(m[2]+m[3], ".whl") || m != nil && m[1] != "Downloading" {
			return f.pip(m)
		}
	}
	if m := uvLine.FindStringSubmatch(l); m != nil {
		verb := strings.ToLower(m[1])
		if m[1] == "Downloaded" || m[1] == "Built" {
			f.done++
			if f.total > 0 {
				return fmt.Sprintf("%s %s (%d/%d)", verb, m[2], f.done, f.total)
			}
		}
		return verb + " " + m[2]
	}
	return ""
}

func (f *follow) pip(m []string) string {
	verb, what := strings.ToLower(m[1]), m[2]
	switch {
	case m[1] == "Collecting" || m[1] == "Processing":
		f.done++
		return fmt.Sprintf("%s %s (%d so far)", verb, what, f.done)
	case m[1] == "Created wheel for":
		return "built " + strings.TrimSuffix(what, ":")
	}
	what = what[strings.LastIndexByte(what, '/')+1:]
	if size := sizeTail.FindString(m[3]); size != "" {
		what += " " + size
	}
	return verb + " " + what
}

func packages(n int) string {
	if n == 1 {
		return "1 package"
	}
	return strconv.Itoa(n) + " packages"
}

package python

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mismatch is an interpreter that wheels are not for.
type Mismatch struct{ Text string }

func (m *Mismatch) Error() string {
	return "python: " + m.Text + "\nhint: python: {interpreter: NAME} chooses one that this machine and the nodes have, such as python3.11"
}

// fits says why an interpreter cannot use the wheels of an archive.
func (m *manifest) fits(i Interpreter) error {
	want := m.Interpreter
	say := func(format string, args ...any) error { return &Mismatch{fmt.Sprintf(format, args...)} }
	if want.Tag != i.Tag {
		return say("the wheels are for %s %s (%s), this node's %s is %s %s (%s)", want.Name, want.Version, want.Tag, i.Path, i.Name, i.Version, i.Tag)
	}
	for _, name := range m.Wheels {
		platform := platformOf(name)
		if platform == "any" {
			continue
		}
		if want.Machine != i.Machine {
			return say("%s is for %s, this node's %s is for %s", name, want.Machine, i.Path, i.Machine)
		}
		wants, musl := libcOf(platform)
		version, glibc := strings.CutPrefix(i.Libc, "glibc ")
		switch {
		case musl && i.Libc != "musl":
			return say("%s is for musl, this node's %s is for %s", name, i.Path, i.Libc)
		case wants != [2]int{} && i.Libc == "musl":
			return say("%s is for glibc, this node's %s is for musl", name, i.Path)
		case glibc && wants != [2]int{} && older(version, wants):
			return say("%s wants glibc %d.%d, this node has %s", name, wants[0], wants[1], version)
		}
	}
	return nil
}

// platformOf is the last part of a wheel's name: any, linux_x86_64,
// manylinux_2_17_x86_64.manylinux2014_x86_64.
func platformOf(wheel string) string {
	wheel = strings.TrimSuffix(wheel, ".whl")
	return wheel[strings.LastIndexByte(wheel, '-')+1:]
}

var (
	manylinux = regexp.MustCompile(`^manylinux_(\d+)_(\d+)_`)
	legacy    = map[string][2]int{"manylinux1": {2, 5}, "manylinux2010": {2, 12}, "manylinux2014": {2, 17}}
)

// libcOf is the least glibc that one of the platforms of a wheel wants, and
// whether all it can have is musl. Zero: it says nothing.
func libcOf(platform string) (least [2]int, musl bool) {
	musl = true
	for p := range strings.SplitSeq(platform, ".") {
		if strings.HasPrefix(p, "musllinux") {
			continue
		}
		musl = false
		name, _, _ := strings.Cut(p, "_")
		wants, known := legacy[name]
		if m := manylinux.FindStringSubmatch(p); m != nil {
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			wants, known = [2]int{a, b}, true
		}
		if known && (least == [2]int{} || less(wants, least)) {
			least = wants
		}
	}
	return least, musl
}

func less(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

func older(version string, than [2]int) bool {
	major, minor, _ := strings.Cut(version, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && less([2]int{a, b}, than)
}

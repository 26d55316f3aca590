package local

import (
	"slices"
	"strconv"
	"strings"
)

// formatSet writes processor numbers as the kernel does: 0-3,8.
func formatSet(cpus []int) string {
	cpus = slices.Sorted(slices.Values(cpus))
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// maxCPU bounds what a set written by somebody else can make us do.
const maxCPU = 1 << 16

// parseSet reads what formatSet writes. What is not a set is no processors.
func parseSet(s string) []int {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(low)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(high)
		}
		if err != nil || a < 0 || b > maxCPU {
			continue
		}
		for n := a; n <= b; n++ {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

package record

import (
	"fmt"
	"slices"
	"strings"
)

// Matrix counts what became of faults, by the part that was hit and the moment.
type Matrix struct {
	Rows, Columns []string
	// Outcomes in the order in which they are told.
	Outcomes []string
	// Why says which cells cannot be, and why.
	Why   func(row, column string) string
	cells map[string]map[string]int
}

func key(row, column string) string { return row + "\x00" + column }

// Count adds one outcome to a cell.
func (m *Matrix) Count(row, column, outcome string) {
	if m.cells == nil {
		m.cells = map[string]map[string]int{}
	}
	k := key(row, column)
	if m.cells[k] == nil {
		m.cells[k] = map[string]int{}
	}
	m.cells[k][outcome]++
	if !slices.Contains(m.Outcomes, outcome) {
		m.Outcomes = append(m.Outcomes, outcome)
	}
}

// Empty names the cells without an outcome and without a reason.
func (m *Matrix) Empty() (out []string) {
	for _, r := range m.Rows {
		for _, c := range m.Columns {
			if m.text(r, c) == "" {
				out = append(out, r+", "+c)
			}
		}
	}
	return out
}

func (m *Matrix) text(row, column string) string {
	var text []string
	for _, o := range m.Outcomes {
		if n := m.cells[key(row, column)][o]; n > 0 {
			text = append(text, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(text) == 0 && m.Why != nil {
		return m.Why(row, column)
	}
	return strings.Join(text, ", ")
}

// String draws the matrix as a table of Markdown.
func (m *Matrix) String() string {
	width := make([]int, len(m.Columns)+1)
	lines := [][]string{append([]string{""}, m.Columns...)}
	for _, r := range m.Rows {
		line := []string{r}
		for _, c := range m.Columns {
			line = append(line, m.text(r, c))
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(&b, "| %-*s ", width[i], cell)
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

//go:build !race

package archive

import "testing"

// The race detector looks at every byte that is moved: five billion of them
// take it minutes, and TestASparseFileStaysSparse shows it the same code.
func TestF028ASparseFileOf5GB(t *testing.T) { checkSparse(t, 5<<30) }

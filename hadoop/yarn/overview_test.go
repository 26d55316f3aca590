package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartNames(t *testing.T) {
	for text, want := range map[string][]string{
		"memory-mb (unit=Mi),vcores,yarn.io/gpu": {memoryName, vcoresName, GPU},
		"[memory-mb (unit=Mi), vcores]":          {memoryName, vcoresName},
		"[MEMORY, CPU]":                          {memoryName, vcoresName},
		"[MEMORY]":                               {memoryName},
		"":                                       nil,
	} {
		if diff := cmp.Diff(want, partNames(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

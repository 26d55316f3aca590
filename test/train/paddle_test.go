//go:build frameworks

package train

import "testing"

func TestPaddleTrainersAverageTheirGradients(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("paddle", python(t, "paddle"))
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	found(t, log, "trainer", 2)
}

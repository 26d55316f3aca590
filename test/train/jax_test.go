//go:build frameworks

package train

import "testing"

func TestJAXFindsEveryProcessWithoutAnArgument(t *testing.T) {
	w := newWorld(t)
	id := w.succeed("jax", python(t, "jax"))
	log := w.logs(id, "--no-prefix")
	falling(t, log)
	found(t, log, "process", 4)
}

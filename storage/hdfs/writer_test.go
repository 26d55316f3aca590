package hdfs

import "testing"

func TestAFillEndsABlock(t *testing.T) {
	for _, size := range []int64{0, 1, 511, 512, 513, 1 << 40} {
		for _, n := range []int{0, 1, 100, 511, 512, 513, 1 << 20} {
			w := &writer{size: size}
			fill := w.Fill(n)
			if fill < 0 || fill >= block || (size+int64(n)+int64(fill))%block != 0 {
				t.Errorf("%d bytes and %d more: filled with %d", size, n, fill)
			}
		}
	}
}

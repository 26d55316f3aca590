// Package hadoop is the root of a leaf tree: what a Go program needs to speak
// to an unmodified Hadoop cluster without a JVM. It holds no code itself; see
// README.md for what each package offers. Nothing below it imports anything
// else of this module, so another project may import it as it is.
package hadoop

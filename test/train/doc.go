// Package train runs the examples for real: bin/muster, a Python with PyTorch
// and one with TensorFlow come in, and models that can read digits come out.
//
// The tests are built with the tag frameworks; "make test" gives them what
// they need.
package train

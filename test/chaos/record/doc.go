// Package record holds what jobs under fire are judged by: the steps that a
// training wrote down come in, and out comes whether each follows the one before;
// and what became of each fault comes in, and out comes the matrix that is printed.
package record

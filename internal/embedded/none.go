//go:build !embed_executor

package embedded

var executor []byte

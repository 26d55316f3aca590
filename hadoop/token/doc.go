// Package token is Hadoop's security tokens and the file that they are kept in:
// the bytes that HADOOP_TOKEN_FILE_LOCATION names, or that travel in a container
// launch context, go in; tokens and named secrets come out, and the other way.
// Both storage formats are read (0, Writable, and 1, protobuf); 0 is written,
// because every Hadoop version reads it.
//
// Text and byte strings of the Writable format are a variable length integer
// and that many bytes; see AppendVint.
package token

// Package sasl is what Hadoop's two wires share of proving who calls and of
// guarding what follows: a server's challenges come in, answers and the agreed
// protection come out. How the bytes travel is theirs: rpc puts them into its
// calls, hdfs into the handshake of a data port.
//
// DIGEST-MD5 (RFC 2831) is here, since tokens are proven with it; GSSAPI is in
// package kerberos, which executors do not have.
package sasl

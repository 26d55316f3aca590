// Package local runs jobs on this machine: a plan and asks for slots come in,
// executors started as process trees and their ends come out.
//
// It has three sides that live in three processes:
//
//	client       Backend   refuses, submits, stops: talks to the server
//	server       Engine    decides whose turn it is and what a slot holds
//	coordinator  Gang      asks the Engine, starts executors, watches them
//
// What a slot holds of the machine is a claim: a file in a machine-wide
// directory, held by a file lock. The lock's open file is inherited by executor
// and guardian, so a claim lives exactly as long as anything of its slot,
// whatever else dies, and two users' servers see each other's claims.
package local

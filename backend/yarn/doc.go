// Package yarn runs jobs on Hadoop YARN: a plan comes in, an application of
// type MUSTER and the executors in its containers come out. There is no JVM of
// ours anywhere, and no service beside the cluster's own.
//
// It has two sides in two processes:
//
//	client       Backend  refuses, stages, submits, explains, stops, keeps
//	coordinator  Gang     the application's master: asks by the ticket rule, starts executors
//
// What they tell each other lies on the cluster's file system; layout.go names
// every file of it. The package knows no framework.
package yarn

// Package yarn speaks YARN's three protocols and reads its REST answers. A
// cluster's configuration and a way to log in go in; applications, containers,
// nodes and queues come out.
//
//	RM      client and ResourceManager: submit, report, kill, nodes, queues (8032)
//	Master  application master and scheduler: register, allocate, finish (8030)
//	Nodes   application master and NodeManagers: start, stop, statuses
//	REST    what the ResourceManager and the NodeManagers tell over HTTP only
//
// Records are those of package yarnpb; identifiers, sizes and failures of single
// containers are small types of this package. Errors keep the Java class that
// the server named: compare with errors.Is and the constants of this package.
package yarn

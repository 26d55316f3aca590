// Package plan turns a checked job, a backend's capabilities and a framework's
// wishes into a Plan: tasks, ranks, ports, resources, start order, policies.
//
// It also declares the nouns that others pass to it and to each other
// (Capabilities, Draft, Roster, Launch), so that nothing imports upward. No
// I/O, no clock, no goroutine.
package plan

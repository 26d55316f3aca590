// Package access decides who may see a job and who may act on it: a person, the
// job's owner and lists come in, yes or no comes out. Who the person is, and of
// which groups, others find out: the kernel, a resource manager's proxy, the
// owner of a file.
//
//	see    the owner, administrators, whom view names, whom modify names
//	act    the owner, administrators, whom modify names
package access

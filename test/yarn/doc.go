// Package yarn runs muster's own binary against a real Hadoop cluster, as a user
// would who has HADOOP_CONF_DIR and nothing else: jobs go in at the command
// line, and what people and the ResourceManager see comes out. Its tests have
// the build tag hadoop; "make test" brings the cluster up.
package yarn

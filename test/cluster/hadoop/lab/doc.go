// Package lab runs a real Hadoop cluster on this machine for tests: a version
// and a mode come in; a directory with HADOOP_CONF_DIR and daemons that answer
// come out, each daemon a JVM of its own on the loopback interface.
//
//	up ──▶ keeper (own session, subreaper, watches its owner)
//	         ├─ nn, dn   NameNode, DataNode
//	         ├─ rm       ResourceManager
//	         ├─ nm1 …    NodeManagers ─ containers
//	         └─ kdc, zk  Kerberos and ZooKeeper, in modes that have them;
//	                     the daemons are nn1, nn2, rm1 and rm2 then
//
// The keeper is the parent of all daemons. It ends, and takes everything with
// it, containers too, when it is told to, when its owner ends, or when whoever
// brings the cluster up dies half-way. When it is killed itself, the kernel
// kills the daemons, and the next up or down in that directory the containers.
//
// Jars come from Maven by pom.xml and are cached for each version, together with
// a class-data archive that takes away 40 % of a start's processor time.
//
// On a secure cluster a class of ours takes the place of one of Hadoop's that
// wants a native library; see secureio.
package lab

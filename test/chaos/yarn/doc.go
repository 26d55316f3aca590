// Package yarn kills the parts of muster and of a real Hadoop cluster, in a
// seeded order, while PyTorch trains on it, and looks at what becomes of the
// training: its steps are consecutive, and nothing is left behind. Its tests have
// the build tag chaos and need a cluster of test/cluster/hadoop that is theirs
// alone: HADOOP_CONF_DIR says where.
package yarn

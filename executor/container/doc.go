// Package container is the birth of an executor inside a YARN container: the
// environment and the credentials file that a NodeManager gives come in, what an
// executor needs to run comes out. It speaks HDFS, by token, only when a chunk of
// logs is written or the coordinator has to be found again.
//
//	muster.start (secret)  → executor.Context, as the coordinator made it
//	PWD                    → task/ is its root, blobs/ is what YARN localised
//	LOG_DIRS               → where the logs are shown, for YARN's log aggregation
//	NVIDIA_VISIBLE_DEVICES, nvidia-smi, NodeManager → which GPUs were granted
//
// Tasks get the submitter's environment, without what names the submitter's
// machine; nothing that the NodeManager gave to us but its word on where
// programs are.
package container

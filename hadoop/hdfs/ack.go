package hdfs

import (
	"bufio"
	"errors"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// readAck reads one acknowledgement.
func readAck(r *bufio.Reader) (ack, error) {
	var m hdfspb.PipelineAck
	if err := readMessage(r, &m); err != nil {
		return ack{}, err
	}
	if len(m.GetReply()) == 0 {
		return ack{}, errors.New("an acknowledgement that names no datanode")
	}
	return ack{seq: m.GetSeqno(), reply: m.GetReply()}, nil
}

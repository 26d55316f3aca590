package hdfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

const (
	// chunk is the number of bytes under one checksum, in what we write.
	chunk = 512
	// packetData is how much data fills a packet, so that with its checksums and
	// header it stays below 64 KiB, the size for which DataNodes keep buffers.
	packetData = 126 * chunk
	// maxPacket is the most that a DataNode sends or takes.
	maxPacket = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packet is what data travels in, both ways:
//
//	u32 length of itself, checksums and data │ u16 length of the header │ header │ checksums │ data
//
// All numbers are big-endian.
type packet struct {
	offset int64 // in the block
	seq    int64 // 0, 1, 2, … in a block; heartbeat for one that carries nothing
	last   bool  // ends the block; carries no data
	sync   bool  // is acknowledged when the data is on disk
	data   []byte
}

// heartbeat is the number of a packet that only says that its sender lives.
const heartbeat = -1

// append adds the packet as it is sent, with CRC32C checksums over 512 bytes each.
func (p *packet) append(b []byte) ([]byte, error) {
	h := &hdfspb.PacketHeader{OffsetInBlock: &p.offset, Seqno: &p.seq, LastPacketInBlock: &p.last, DataLen: proto.Int32(int32(len(p.data)))}
	if p.sync {
		h.SyncBlock = &p.sync // old DataNodes do not know the field
	}
	hb, err := proto.Marshal(h)
	if err != nil {
		return nil, err
	}
	n := (len(p.data) + chunk - 1) / chunk
	b = binary.BigEndian.AppendUint32(b, uint32(4+4*n+len(p.data)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(hb)))
	b = append(b, hb...)
	for d := p.data; len(d) > 0; {
		c := d[:min(chunk, len(d))]
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(c, castagnoli))
		d = d[len(c):]
	}
	return append(b, p.data...), nil
}

// errChecksum says that data and checksum of a replica disagree.
var errChecksum = errors.New("checksum mismatch")

// checksum is how a replica was summed when it was written.
type checksum struct {
	table *crc32.Table // nil: not at all
	bytes int          // under one checksum
}

func newChecksum(c *hdfspb.BlockChecksum) (checksum, error) {
	k := checksum{bytes: int(c.GetBytesPerChecksum())}
	switch c.GetType() {
	case hdfspb.ChecksumType_CHECKSUM_NULL:
	case hdfspb.ChecksumType_CHECKSUM_CRC32:
		k.table = crc32.IEEETable
	case hdfspb.ChecksumType_CHECKSUM_CRC32C:
		k.table = castagnoli
	default:
		return k, fmt.Errorf("unknown type of checksum: %d", c.GetType())
	}
	if k.bytes <= 0 || k.bytes > maxPacket {
		return k, fmt.Errorf("a checksum over %d bytes", k.bytes)
	}
	return k, nil
}

// size is how many bytes of checksums n bytes of data have.
func (k checksum) size(n int) int {
	if k.table == nil {
		return 0
	}
	return (n + k.bytes - 1) / k.bytes * 4
}

func (k checksum) verify(sums, data []byte) error {
	if k.table == nil {
		return nil
	}
	for len(data) > 0 {
		c := data[:min(k.bytes, len(data))]
		if crc32.Checksum(c, k.table) != binary.BigEndian.Uint32(sums) {
			return errChecksum
		}
		sums, data = sums[4:], data[len(c):]
	}
	return nil
}

// read reads a packet into buf, which it may replace, and verifies it. Its data
// is valid until the next call with the same buffer.
func (k checksum) read(r *bufio.Reader, buf *[]byte) (packet, error) {
	var pre [6]byte
	if _, err := io.ReadFull(r, pre[:]); err != nil {
		return packet{}, err
	}
	body := int64(binary.BigEndian.Uint32(pre[:])) - 4
	head := int(binary.BigEndian.Uint16(pre[4:]))
	if body < 0 || body > maxPacket {
		return packet{}, fmt.Errorf("a packet of %d bytes", body)
	}
	n := head + int(body)
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	if _, err := io.ReadFull(r, b); err != nil {
		return packet{}, unexpected(err)
	}
	var h hdfspb.PacketHeader
	if err := proto.Unmarshal(b[:head], &h); err != nil {
		return packet{}, fmt.Errorf("header of a packet: %w", err)
	}
	b = b[head:]
	size := int(h.GetDataLen())
	if size < 0 || size > len(b) || k.size(size)+size != len(b) {
		return packet{}, fmt.Errorf("a packet of %d bytes cannot hold %d bytes of data and their checksums", len(b), size)
	}
	sums, data := b[:len(b)-size], b[len(b)-size:]
	if err := k.verify(sums, data); err != nil {
		return packet{}, err
	}
	return packet{offset: h.GetOffsetInBlock(), seq: h.GetSeqno(), last: h.GetLastPacketInBlock(), sync: h.GetSyncBlock(), data: data}, nil
}

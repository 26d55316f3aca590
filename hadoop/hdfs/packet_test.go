package hdfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

var (
	theirs = checksum{table: castagnoli, bytes: chunk}
	same   = cmp.AllowUnexported(packet{})
)

func decode(k checksum, b []byte) (packet, error) {
	var buf []byte
	return k.read(bufio.NewReader(bytes.NewReader(b)), &buf)
}

func TestWhatIsSentIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := packet{
			offset: rapid.Int64Min(0).Draw(t, "offset"),
			seq:    rapid.Int64Min(-1).Draw(t, "seq"),
			last:   rapid.Bool().Draw(t, "last"),
			sync:   rapid.Bool().Draw(t, "sync"),
			data:   rapid.SliceOfN(rapid.Byte(), 0, 3*chunk).Draw(t, "data"),
		}
		b, err := want.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(theirs, b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Error(diff)
		}
		// No bit of data or checksums may be wrong, and no byte may be missing.
		n := len(want.data) + theirs.size(len(want.data))
		if n > 0 {
			i := len(b) - 1 - rapid.IntRange(0, n-1).Draw(t, "byte")
			b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if _, err := decode(theirs, b); !errors.Is(err, errChecksum) {
				t.Errorf("byte %d wrong: %v", i, err)
			}
		}
		cut := rapid.IntRange(1, len(b)-1).Draw(t, "cut")
		if _, err := decode(theirs, b[:cut]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", cut, len(b), err)
		}
	})
}

// The bytes of a packet as a DataNode takes them.
func TestTheFormOfAPacket(t *testing.T) {
	p := packet{offset: 512, seq: 1, sync: true, data: []byte("abc")}
	got, err := p.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{0, 0, 0, 4 + 4 + 3, 0, 27,
		0x09, 0, 2, 0, 0, 0, 0, 0, 0, // offset, sfixed64
		0x11, 1, 0, 0, 0, 0, 0, 0, 0, // number, sfixed64
		0x18, 0, // not the last
		0x25, 3, 0, 0, 0, // length, sfixed32
		0x28, 1, // to the disk
		0x36, 0x4b, 0x3f, 0xb7, 'a', 'b', 'c'}
	binary.BigEndian.PutUint32(want[len(want)-7:], crc32.Checksum([]byte("abc"), castagnoli))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReplicasMayBeSummedOtherwise(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 100))
	for name, tc := range map[string]struct {
		kind  hdfspb.ChecksumType
		bytes uint32
		table *crc32.Table
		bad   bool
	}{
		"CRC32":          {hdfspb.ChecksumType_CHECKSUM_CRC32, 256, crc32.IEEETable, false},
		"CRC32C":         {hdfspb.ChecksumType_CHECKSUM_CRC32C, 4096, castagnoli, false},
		"none":           {hdfspb.ChecksumType_CHECKSUM_NULL, 512, nil, false},
		"unknown":        {9, 512, nil, true},
		"over nothing":   {hdfspb.ChecksumType_CHECKSUM_CRC32C, 0, nil, true},
		"over very much": {hdfspb.ChecksumType_CHECKSUM_CRC32C, 1 << 31, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := newChecksum(&hdfspb.BlockChecksum{Type: &tc.kind, BytesPerChecksum: &tc.bytes})
			if tc.bad {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			h, err := proto.Marshal(&hdfspb.PacketHeader{OffsetInBlock: proto.Int64(0), Seqno: proto.Int64(0),
				LastPacketInBlock: proto.Bool(false), DataLen: proto.Int32(int32(len(data)))})
			if err != nil {
				t.Fatal(err)
			}
			var sums []byte
			for d := data; tc.table != nil && len(d) > 0; d = d[min(int(tc.bytes), len(d)):] {
				sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(d[:min(int(tc.bytes), len(d))], tc.table))
			}
			b := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
			b = binary.BigEndian.AppendUint16(b, uint16(len(h)))
			b = append(append(append(b, h...), sums...), data...)
			p, err := decode(k, b)
			if err != nil || !bytes.Equal(p.data, data) {
				t.Errorf("%d bytes, %v", len(p.data), err)
			}
		})
	}
}

func FuzzPacket(f *testing.F) {
	for _, p := range []packet{{}, {seq: heartbeat}, {offset: 512, seq: 3, data: []byte("abc")}, {last: true, sync: true, seq: 4}} {
		b, err := p.append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(theirs, b)
		if err != nil {
			return
		}
		if len(p.data) > len(b) {
			t.Errorf("%d bytes of data out of %d", len(p.data), len(b))
		}
		again, err := p.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := decode(theirs, again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, q, same); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzAck(f *testing.F) {
	for _, a := range []*hdfspb.PipelineAck{
		{Seqno: proto.Int64(0), Reply: []hdfspb.Status{0}},
		{Seqno: proto.Int64(-1), Reply: []hdfspb.Status{0, 0, 1}, Flag: []uint32{1, 2, 3}},
	} {
		b, err := appendMessage(nil, a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := readAck(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && len(a.reply) == 0 {
			t.Error("an acknowledgement by nobody")
		}
	})
}

func FuzzResponse(f *testing.F) {
	for _, r := range []*hdfspb.BlockOpResponse{
		{Status: hdfspb.Status_SUCCESS.Enum()},
		{Status: hdfspb.Status_ERROR.Enum(), FirstBadLink: proto.String("10.0.0.1:9866"), Message: proto.String("no")},
		{Status: hdfspb.Status_SUCCESS.Enum(), ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfo{ChunkOffset: proto.Uint64(512),
			Checksum: &hdfspb.BlockChecksum{Type: hdfspb.ChecksumType_CHECKSUM_CRC32C.Enum(), BytesPerChecksum: proto.Uint32(512)}}},
	} {
		b, err := appendMessage(nil, r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r hdfspb.BlockOpResponse
		if err := readMessage(bufio.NewReader(bytes.NewReader(b)), &r); err != nil {
			return
		}
		if k, err := newChecksum(r.GetReadOpChecksumInfo().GetChecksum()); err == nil && (k.bytes <= 0 || k.size(1<<20) < 0) {
			t.Errorf("a checksum over %d bytes", k.bytes)
		}
	})
}

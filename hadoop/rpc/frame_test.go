package rpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// A server that claims a large frame and sends little costs little.
func TestFrameMemory(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, MaxFrame)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if _, err := readFrame(io.MultiReader(bytes.NewReader(head), strings.NewReader("little"))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v, want %v", err, io.ErrUnexpectedEOF)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes for ten claims", used)
	}
	if _, err := readFrame(bytes.NewReader(binary.BigEndian.AppendUint32(nil, MaxFrame+1))); !errors.Is(err, ErrProtocol) {
		t.Errorf("a frame above the limit: %v, want %v", err, ErrProtocol)
	}
}

func TestFrameTooLargeToSend(t *testing.T) {
	m := &ipcpb.RpcSasl{State: ipcpb.RpcSasl_WRAP.Enum(), Token: make([]byte, MaxFrame)}
	if _, err := frame(m); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

func TestMessage(t *testing.T) {
	tests := []struct{ class, trace, want string }{
		{"a.B", "a.B: it broke\n\tat a.C.d(C.java:1)\n\tat e", "it broke"},
		{"a.B", "a.B\n\tat a.C.d(C.java:1)", ""},
		{"a.B", "it broke", "it broke"},
		{"a.B", "a.B: one\r\n  two\n\nCaused by: c.D: three\n\tat e", "one two"},
		{"a.B", "a.BC: other", "a.BC: other"},
		{"", "text", "text"},
		{"a.B", "", ""},
	}
	for _, tt := range tests {
		if got := message(tt.class, tt.trace); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.trace, got, tt.want)
		}
	}
	if got := message("", strings.Repeat("é", 100_000)); len(got) > maxMessage+10 || !strings.HasSuffix(got, "é …") {
		t.Errorf("a long message becomes %d bytes, ending in %q", len(got), got[len(got)-10:])
	}
}

// script is a connection whose other end has said everything already.
type script struct {
	net.Conn
	in io.Reader
}

func (s *script) Read(b []byte) (int, error)     { return s.in.Read(b) }
func (*script) Write(b []byte) (int, error)      { return len(b), nil }
func (*script) Close() error                     { return nil }
func (*script) SetDeadline(time.Time) error      { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }

// signed is a layer for tests: a sum with a secret stands before each text.
type signed struct{}

func (signed) Protection() sasl.Protection { return sasl.Integrity }
func (signed) Max() int                    { return 1 << 16 }

func (signed) Wrap(plain []byte) ([]byte, error) {
	sum := sha256.Sum256(append([]byte("secret"), plain...))
	return append(sum[:], plain...), nil
}

func (s signed) Unwrap(wrapped []byte) ([]byte, error) {
	if len(wrapped) < sha256.Size {
		return nil, sasl.ErrProtection
	}
	plain := wrapped[sha256.Size:]
	if again, _ := s.Wrap(plain); !bytes.Equal(again, wrapped) {
		return nil, sasl.ErrProtection
	}
	return plain, nil
}

// Whatever a server sends during negotiation and after: an error or answers, no
// panic, and nothing taken for an answer that was not protected as agreed.
func FuzzFrames(f *testing.F) {
	plain, err := responseFrame(0, response("hello"), nil)
	if err != nil {
		f.Fatal(err)
	}
	wrapped, _ := signed{}.Wrap(plain)
	whole, err := responseFrame(callSasl, &ipcpb.RpcSasl{State: ipcpb.RpcSasl_WRAP.Enum(), Token: wrapped}, nil)
	if err != nil {
		f.Fatal(err)
	}
	failed, _ := responseFrame(3, nil, Standby)
	f.Add(plain, false)
	f.Add(append(bytes.Clone(plain), failed...), false)
	f.Add(whole, true)
	f.Add(append(bytes.Clone(whole), plain...), true)
	f.Fuzz(func(t *testing.T, in []byte, protected bool) {
		p := newPipe(&script{in: bytes.NewReader(in)}, "a:1")
		if protected {
			p.protect(signed{})
		}
		for {
			b, err := p.read()
			if err != nil {
				return
			}
			if protected && !bytes.Equal(b, plain[4:]) {
				t.Fatalf("forged: %x", b)
			}
			var h ipcpb.RpcResponseHeader
			if b, err = pop(b, &h); err != nil {
				return
			}
			_ = remote(&h, "a:1")
			_, _ = pop(b, &ipcpb.GetDelegationTokenResponse{})
		}
	})
}

func FuzzNegotiation(f *testing.F) {
	for _, m := range []*ipcpb.RpcSasl{
		{State: ipcpb.RpcSasl_SUCCESS.Enum()},
		{State: ipcpb.RpcSasl_CHALLENGE.Enum(), Token: []byte("x")},
	} {
		b, err := responseFrame(callSasl, m, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		nc := &script{in: bytes.NewReader(in)}
		if _, err := handshake(t.Context(), nc, "a:1", "p", []byte("id"), Auth{Token: bobs}, sasl.Authentication); err == nil {
			t.Fatal("a token was accepted by a server that cannot know its password")
		}
	})
}

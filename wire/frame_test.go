package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/muster-project/muster/wire/internal/pb"
)

func TestBadFrames(t *testing.T) {
	good, err := encode(directiveDown(Directive{Quit: &Quit{Reason: "done"}}), 100)
	if err != nil {
		t.Fatal(err)
	}
	tc := map[string]struct {
		in   []byte
		want error
	}{
		"nothing":         {nil, io.EOF},
		"half a length":   {good[:2], io.ErrUnexpectedEOF},
		"length only":     {good[:4], io.ErrUnexpectedEOF},
		"half a body":     {good[:len(good)-1], io.ErrUnexpectedEOF},
		"beyond limit":    {[]byte{0, 0, 0, 101}, ErrTooLarge},
		"4 GiB announced": {[]byte{255, 255, 255, 255, 1}, ErrTooLarge},
		"garbage":         {[]byte{0, 0, 0, 3, 0xff, 0xff, 0xff}, ErrGarbage},
		"an HTTP client":  {[]byte("GET / HTTP/1.1\r\n\r\n"), ErrTooLarge},
	}
	for name, tc := range tc {
		t.Run(name, func(t *testing.T) {
			var d pb.Down
			if err := decode(bytes.NewReader(tc.in), &d, 100); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestALengthAloneCostsNoMemory(t *testing.T) {
	in := binary.BigEndian.AppendUint32(nil, 1<<30)
	in = append(in, 1, 2, 3)
	bytesUsed := allocated(func() {
		var d pb.Down
		if err := decode(bytes.NewReader(in), &d, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
	if bytesUsed > 1<<20 {
		t.Errorf("a frame of three bytes that announced 1 GiB cost %d bytes", bytesUsed)
	}
}

func TestAFrameBeyondTheLimitIsNotSent(t *testing.T) {
	_, err := encode(directiveDown(Directive{Quit: &Quit{Reason: "much too long"}}), 5)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func FuzzFrame(f *testing.F) {
	seed := func(m proto.Message) {
		frame, err := encode(m, 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
		f.Add(append(frame, frame[:len(frame)/2]...))
	}
	seed(helloUp(Hello{Job: "m-1", Ports: map[string]int{"main": 1}}))
	seed(messageUp(Message{Beat: &Beat{Incarnation: 3}}))
	seed(directiveDown(Directive{Start: &Start{Epoch: 2}}))
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for {
			var up pb.Up
			if err := decode(r, &up, 1<<16); err != nil {
				return // never a panic; what is read is bounded by what is there
			}
			again := travel(t, &up, new(pb.Up))
			if diff := cmp.Diff(&up, again, protocmp.Transform(), equateNaN); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// FuzzMessage: whatever a peer sends, what we understood of it survives being
// sent on.
func FuzzMessage(f *testing.F) {
	for _, m := range []proto.Message{
		messageUp(Message{Exited: &Exited{Incarnation: 1}}),
		messageUp(Message{Beat: &Beat{}}),
		directiveDown(Directive{Prepare: &Prepare{Incarnation: 1}}),
		directiveDown(Directive{Start: &Start{Epoch: 2}}),
		helloUp(Hello{Job: "m-1"}),
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var up pb.Up
		if proto.Unmarshal(in, &up) == nil {
			if m, ok := messageIn(&up); ok {
				again, _ := messageIn(travel(t, messageUp(m), new(pb.Up)))
				if diff := cmp.Diff(m, again, loose...); diff != "" {
					t.Fatal(diff)
				}
			}
			if h := up.GetHello(); h != nil {
				want := helloIn(h)
				if diff := cmp.Diff(want, helloIn(helloUp(want).GetHello()), loose...); diff != "" {
					t.Fatal(diff)
				}
			}
		}
		var down pb.Down
		if proto.Unmarshal(in, &down) == nil {
			if d, ok := directiveIn(&down); ok {
				again, _ := directiveIn(travel(t, directiveDown(d), new(pb.Down)))
				if diff := cmp.Diff(d, again, loose...); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

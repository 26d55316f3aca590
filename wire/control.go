package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/muster-project/muster/wire/internal/pb"
)

// An executor listens too: a coordinator of a new term may find it in the
// journal before the executor finds the coordinator.

// nudges are read one after the other; a stranger costs this much time.
const nudge = 5 * time.Second

// Nudge tells the executor that listens at control where the coordinator of a
// term is. The executor connects if the term is higher than any it has seen.
func Nudge(ctx context.Context, control string, conf *tls.Config, term int64, address string) error {
	ctx, cancel := context.WithTimeout(ctx, nudge)
	defer cancel()
	limits := Limits{}.filled()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", control)
	if err != nil {
		return fmt.Errorf("executor %s: %w", control, err)
	}
	tlsConn := tls.Client(conn, conf)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	if err := tlsConn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("executor %s: %w", control, err)
	}
	frame, err := encode(&pb.Down{Kind: &pb.Down_Nudge{Nudge: &pb.Nudge{Version: Version, Term: term, Address: address}}}, limits.Up)
	if err != nil {
		return err
	}
	if _, err := tlsConn.Write(frame); err != nil {
		return fmt.Errorf("executor %s: %w", control, err)
	}
	// The executor closes once it has read; only then has it been told.
	var answer [1]byte
	_ = tlsConn.CloseWrite()
	if _, err := tlsConn.Read(answer[:]); !errors.Is(err, io.EOF) {
		return fmt.Errorf("executor %s: %w", control, err)
	}
	return nil
}

// Controlled is what an executor does with those who come to its control port.
type Controlled struct {
	// Told: a coordinator says where it is. It must not wait.
	Told func(term int64, address string)
	// Called: somebody of the job calls. It owns the stream and may take its time;
	// ctx ends with ServeControl.
	Called func(ctx context.Context, s *Stream, c Call)
}

// ServeControl reads nudges and calls until ctx is done. conf comes from Control.
func ServeControl(ctx context.Context, ln net.Listener, conf *tls.Config, log *slog.Logger, do Controlled) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	few, many := make(chan struct{}, 4), make(chan struct{}, calls)
	for {
		few <- struct{}{}
		conn, err := ln.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case scarce(err):
			<-few
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
			continue
		default:
			return fmt.Errorf("control port %s: %w", ln.Addr(), err)
		}
		wg.Go(func() {
			tlsConn := tls.Server(conn, conf)
			down, err := listen(ctx, tlsConn)
			<-few
			if err == nil && down.GetNudge() != nil {
				err = tlsConn.Close()
			}
			switch {
			case err != nil:
				refuse(conn)
				log.Debug("control connection refused", "from", conn.RemoteAddr(), "error", err)
			case down.GetNudge() != nil:
				do.Told(down.GetNudge().GetTerm(), down.GetNudge().GetAddress())
			default:
				serveCall(ctx, &Stream{conn: tlsConn}, callIn(down.GetCall()), many, do.Called)
			}
		})
	}
}

// refuse closes a connection so that the peer sees that it is no orderly end.
func refuse(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}

// serveCall hands a call on, unless there are too many.
func serveCall(ctx context.Context, s *Stream, c Call, many chan struct{}, called func(context.Context, *Stream, Call)) {
	stop := context.AfterFunc(ctx, s.Abort)
	defer stop()
	select {
	case many <- struct{}{}:
		defer func() { <-many }()
		called(ctx, s, c)
	default:
		s.Refuse(fmt.Sprintf("%d calls are under way already", cap(many)))
	}
}

// listen makes the connection and reads its first frame: a nudge or a call.
func listen(ctx context.Context, conn *tls.Conn) (*pb.Down, error) {
	ctx, cancel := context.WithTimeout(ctx, nudge)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { refuse(conn.NetConn()) })
	defer stop()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	who, err := peer(conn.ConnectionState())
	if err != nil {
		return nil, err
	}
	down := new(pb.Down)
	if err := decode(conn, down, Limits{}.filled().Up); err != nil {
		return nil, err
	}
	var version int32
	switch {
	case down.GetNudge() != nil && !who.Task.IsZero():
		return nil, fmt.Errorf("control port: %s: only a coordinator may say where it is: %w", who, ErrIdentity)
	case down.GetNudge() != nil:
		version = down.GetNudge().GetVersion()
	case down.GetCall() != nil:
		version = down.GetCall().GetVersion()
	default:
		return nil, fmt.Errorf("control port: %w", ErrGarbage)
	}
	if version != Version {
		return nil, fmt.Errorf("control port: executor speaks version %d, %s version %d: %w", Version, who, version, ErrVersion)
	}
	return down, nil
}

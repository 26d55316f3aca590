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

// ServeControl reads nudges until ctx is done. told must not wait.
func ServeControl(ctx context.Context, ln net.Listener, conf *tls.Config, log *slog.Logger, told func(term int64, address string)) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	few := make(chan struct{}, 4)
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
			defer func() { <-few }()
			n, err := listen(ctx, tls.Server(conn, conf))
			if err != nil {
				log.Debug("control connection refused", "from", conn.RemoteAddr(), "error", err)
				return
			}
			told(n.GetTerm(), n.GetAddress())
		})
	}
}

func listen(ctx context.Context, conn *tls.Conn) (*pb.Nudge, error) {
	ctx, cancel := context.WithTimeout(ctx, nudge)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	defer stop()
	defer func() { _ = conn.NetConn().Close() }()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	var down pb.Down
	if err := decode(conn, &down, Limits{}.filled().Up); err != nil {
		return nil, err
	}
	n := down.GetNudge()
	if n == nil {
		return nil, fmt.Errorf("control port: %w", ErrGarbage)
	}
	if n.GetVersion() != Version {
		return nil, fmt.Errorf("control port: executor speaks version %d, coordinator version %d: %w", Version, n.GetVersion(), ErrVersion)
	}
	return n, conn.Close()
}

package executor

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/local"
)

// endpoint is where the coordinator of a term listens.
type endpoint struct {
	Term    int64  `json:"term"`
	Address string `json:"address"`
}

// newest reads the endpoint of the highest term from a directory of files named
// by their terms. A file that is not complete yet counts as not there. The
// error says that the directory itself cannot be read.
func newest(ctx context.Context, fsys storage.FS, dir string) (endpoint, error) {
	entries, err := fsys.List(ctx, dir)
	if err != nil {
		return endpoint{}, err
	}
	// From the highest term down: mostly one file is read.
	terms := map[int64]string{}
	for _, entry := range entries {
		if term, err := strconv.ParseInt(entry.Name(), 10, 64); err == nil {
			terms[term] = entry.Name()
		}
	}
	for _, term := range slices.Backward(slices.Sorted(maps.Keys(terms))) {
		if at, ok := announced(ctx, fsys, path.Join(dir, terms[term])); ok {
			return endpoint{Term: term, Address: at.Address}, nil
		}
	}
	return endpoint{}, nil
}

// announced reads one endpoint file.
func announced(ctx context.Context, fsys storage.FS, file string) (endpoint, bool) {
	r, err := fsys.Open(ctx, file, 0)
	if err != nil {
		return endpoint{}, false
	}
	defer r.Close()
	const most = 4 << 10
	text, err := io.ReadAll(io.LimitReader(r, most))
	var e endpoint
	return e, err == nil && json.Unmarshal(text, &e) == nil && e.Address != ""
}

// Waits of the looker between two looks. While there is a link, only a
// superseded coordinator that does not know it makes them needed. Without one
// they grow from first to last: thousands of executors share the directory.
const (
	lookLinked = 30 * time.Second
	lookFirst  = time.Second
	lookLast   = 5 * time.Second
	// lookTime bounds one look at a storage that may hang.
	lookTime = 20 * time.Second
)

// look reads the job directory as long as the executor lives, in a goroutine of
// its own: a file system that hangs must not keep anybody from dialling.
//
// A remote storage is not looked at while there is a link, nor before the first
// attempt to dial: a new coordinator tells the executors itself, and one server
// answers for the files of thousands.
func (e *executor) look(ctx context.Context) {
	remote := e.opt.FS != nil
	wait, due := lookFirst, !remote
	for {
		ask := isLinked{make(chan bool, 1)}
		if !e.tell(ctx, ask) {
			return
		}
		linked := <-ask.answer
		if due && !(remote && linked) && !e.tell(ctx, e.lookOnce(ctx)) {
			return
		}
		due = true
		// The short lease runs from the last look that succeeded.
		next := min(wait, e.short()/4)
		if linked {
			next, wait = lookLinked, lookFirst
		}
		t := time.NewTimer(next/2 + rand.N(next)) // jitter
		select {
		case <-t.C:
			wait = min(2*wait, lookLast)
		case <-e.unlinked:
			wait = lookFirst
		case <-ctx.Done():
		}
		t.Stop()
	}
}

func (e *executor) lookOnce(ctx context.Context) looked {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	fsys := e.opt.FS
	if fsys == nil {
		fsys = local.FS{}
	}
	found, err := newest(ctx, fsys, e.Endpoints)
	if err != nil {
		e.log.Debug("job directory cannot be read", "error", err)
	}
	return looked{found: found, ok: err == nil}
}

// isLinked asks the loop whether there is a link.
type isLinked struct{ answer chan bool } // of size 1

func (i isLinked) apply(_ context.Context, e *executor) { i.answer <- e.conn != nil }

// looked is what the looker found.
type looked struct {
	found endpoint
	ok    bool
}

func (l looked) apply(_ context.Context, e *executor) {
	if l.ok {
		e.dirOK = time.Now()
		e.learn(l.found)
	}
	if e.conn == nil {
		e.arm()
	}
}

// hostFor is the address that others reach this node at: the one that was
// given, else the one on the route to the coordinator, since that is known to
// work and an interface chosen by name is not.
func hostFor(given, coordinator string) string {
	if given != "" {
		return given
	}
	// No packet is sent by this: the kernel only chooses the route.
	if conn, err := net.Dial("udp", coordinator); err == nil {
		defer conn.Close()
		if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			return addr.IP.String()
		}
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "127.0.0.1"
}

// bindHost is where to listen so that host reaches it: a loopback address keeps
// to itself, any other may be one that only the outside knows.
func bindHost(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return host
	}
	return ""
}

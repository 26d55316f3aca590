package rendezvous

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gloo does what HTTPStore and gloo's rendezvous context of Horovod 0.28.1 do,
// byte for byte on the wire: one connection for each request, the head in this
// order, and an answer that is read up to its Content-Length, a word that is
// looked for in exactly this case. The C++ itself runs in "make test-all".
type gloo struct {
	t     *testing.T
	addr  string
	scope string
	rank  int
}

func (g gloo) send(method, key string, body []byte) (int, []byte) {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Error(err)
		return 0, nil
	}
	defer conn.Close()
	host, _, _ := net.SplitHostPort(g.addr)
	head := method + " /" + g.scope + "/" + key + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := conn.Write(append([]byte(head), body...)); err != nil {
		g.t.Error(err)
		return 0, nil
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		head, rest, whole := bytes.Cut(got, []byte("\r\n\r\n"))
		if whole {
			status, length := parseHead(string(head))
			if length < 0 || len(rest) >= length {
				return status, rest
			}
		}
		if errors.Is(err, io.EOF) {
			g.t.Errorf("%s %s: the answer ends early: %q", method, key, got)
			return 0, nil
		} else if err != nil {
			g.t.Error(err)
			return 0, nil
		}
	}
}

func parseHead(head string) (status, length int) {
	lines := strings.Split(head, "\r\n")
	status, _ = strconv.Atoi(strings.Fields(lines[0])[1])
	length = -1
	for _, l := range lines[1:] {
		if v, ok := strings.CutPrefix(l, "Content-Length:"); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return status, length
}

// get is an empty value where there is none.
func (g gloo) get(key string) []byte {
	status, value := g.send("GET", key, nil)
	if status == 404 {
		return nil
	}
	if status != 200 {
		g.t.Errorf("GET %s: %d", key, status)
	}
	return value
}

func (g gloo) set(key string, value []byte) {
	if status, _ := g.send("PUT", key, value); status != 200 {
		g.t.Errorf("PUT %s: %d", key, status)
	}
}

func (g gloo) wait(key string) {
	for end := time.Now().Add(30 * time.Second); ; {
		status, _ := g.send("GET", key, nil)
		if status == 200 {
			return
		}
		if status != 404 || time.Now().After(end) {
			g.t.Errorf("GET %s: %d", key, status)
			return
		}
	}
}

// connect is connectFullMesh: everybody tells its host and the address of its
// end of each pair, and reads those of the others.
func (g gloo) connect(size int) {
	g.set("rank_"+strconv.Itoa(g.rank), []byte("host"))
	for i := range g.rank {
		if host := g.get("rank_" + strconv.Itoa(i)); len(host) != 0 && string(host) != "host" {
			g.t.Errorf("rank %d has host %q", i, host)
		}
	}
	var all []byte
	for i := range size {
		if i != g.rank {
			all = append(all, pair(g.rank, i)...)
		}
	}
	g.set(strconv.Itoa(g.rank), all)
	for i := range size {
		if i == g.rank {
			continue
		}
		g.wait(strconv.Itoa(i))
		addrs := g.get(strconv.Itoa(i))
		at, one := g.rank, len(addrs)/(size-1)
		if g.rank > i {
			at--
		}
		if want := pair(i, g.rank); !bytes.Equal(addrs[at*one:(at+1)*one], want) {
			g.t.Errorf("rank %d: rank %d is at %q", g.rank, i, addrs)
		}
	}
}

// pair is as long as the address of a socket is for gloo, and holds all bytes.
func pair(from, to int) []byte {
	b := make([]byte, 136)
	copy(b, fmt.Sprintf("%d\x00\r\n\r\n%d", from, to))
	return b
}

// Horovod's ranks meet three times: all, those of a host, those of equal local
// rank; at the end of each everybody takes its own key back.
func TestRanksOfGlooMeet(t *testing.T) {
	s, addr := serve(t, Limits{})
	const size = 8
	for _, scope := range []string{"global", "local_worker-0", "cross_0"} {
		var wg, barrier sync.WaitGroup
		barrier.Add(size)
		for rank := range size {
			wg.Go(func() {
				g := gloo{t, addr, scope, rank}
				g.connect(size)
				barrier.Done()
				barrier.Wait()
				if status, _ := g.send("DELETE", strconv.Itoa(rank), nil); status != 200 {
					t.Errorf("DELETE: %d", status)
				}
			})
		}
		wg.Wait()
	}
	kept, used := s.store.content()
	var want int64
	for key, value := range kept {
		if !strings.Contains(key, "/rank_") {
			t.Errorf("%s is still there", key)
		}
		want += weight(key, len(value))
	}
	if used != want {
		t.Errorf("%d bytes are counted, %d are kept", used, want)
	}
}

package rendezvous

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, limits Limits) (*Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(limits, ln)
	t.Cleanup(s.Close)
	return s, ln.Addr().String()
}

// ask sends bytes and gives the whole answer, up to the end of the connection.
func ask(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("%.40q: the answer was cut off after %q: %v", text, got, err)
	}
	return string(got)
}

func answerOf(status, body string) string {
	kind := ""
	if strings.HasPrefix(status, "200") {
		kind = "Content-Type: application/octet-stream\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s", status, len(body), kind, body)
}

func TestKeysAreKeptUntilTheyAreRemoved(t *testing.T) {
	_, addr := serve(t, Limits{})
	for _, step := range []struct{ send, want string }{
		{"GET /s/k HTTP/1.1\r\nHost: x\r\n\r\n", answerOf("404 Not Found", "")},
		{"PUT /s/k HTTP/1.1\r\nContent-Length: 3\r\n\r\na\x00b", answerOf("200 OK", "")},
		{"GET /s/k HTTP/1.1\r\n\r\n", answerOf("200 OK", "a\x00b")},
		{"GET /s/K HTTP/1.1\r\n\r\n", answerOf("404 Not Found", "")},
		{"GET /other/k HTTP/1.1\r\n\r\n", answerOf("404 Not Found", "")},
		{"PUT /s/k HTTP/1.1\r\ncontent-length: 1\r\n\r\nc", answerOf("200 OK", "")},
		{"GET /s/k HTTP/1.0\r\nContent-Length: 4\r\n\r\nbody", answerOf("200 OK", "c")},
		{"PUT /s/empty HTTP/1.1\r\nContent-Length: 0\r\n\r\n", answerOf("200 OK", "")},
		{"GET /s/empty HTTP/1.1\r\n\r\n", answerOf("200 OK", "")},
		{"DELETE /s/k HTTP/1.1\r\nContent-Length: 0\r\n\r\n", answerOf("200 OK", "")},
		{"GET /s/k HTTP/1.1\r\n\r\n", answerOf("404 Not Found", "")},
		{"DELETE /s/k HTTP/1.1\r\n\r\n", answerOf("200 OK", "")},
	} {
		if d := cmp.Diff(step.want, ask(t, addr, step.send)); d != "" {
			t.Errorf("%q:\n%s", step.send, d)
		}
	}
}

func TestWhatIsNoRequestIsToldSo(t *testing.T) {
	_, addr := serve(t, Limits{Value: 100, Total: 1000})
	long := strings.Repeat("x", headMost)
	for send, want := range map[string]string{
		"hello\r\n\r\n":                                                       "400 Bad Request",
		"\r\n\r\n":                                                            "400 Bad Request",
		"GET / HTTP/1.1\r\n\r\n":                                              "400 Bad Request",
		"GET /key HTTP/1.1\r\n\r\n":                                           "400 Bad Request",
		"GET //key HTTP/1.1\r\n\r\n":                                          "400 Bad Request",
		"GET /s/ HTTP/1.1\r\n\r\n":                                            "400 Bad Request",
		"GET /s/k/more HTTP/1.1\r\n\r\n":                                      "400 Bad Request",
		"GET http://host/s/k HTTP/1.1\r\n\r\n":                                "400 Bad Request",
		"GET /s/k HTTP/1.1\r\nno colon\r\n\r\n":                               "400 Bad Request",
		"GET /s/k HTTP/2.0\r\n\r\n":                                           "505 HTTP Version Not Supported",
		"POST /s/k HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc":                  "405 Method Not Allowed",
		"PUT /s/k HTTP/1.1\r\n\r\n":                                           "411 Length Required",
		"PUT /s/k HTTP/1.1\r\nContent-Length: -1\r\n\r\n":                     "400 Bad Request",
		"PUT /s/k HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": "400 Bad Request",
		"PUT /s/k HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + long:             "413 Content Too Large",
		"PUT /s/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":    "501 Not Implemented",
		"GET /s/" + long + " HTTP/1.1\r\n\r\n":                                "431 Request Header Fields Too Large",
		"GET /s/k HTTP/1.1\r\nX: " + long + "\r\n\r\n":                        "431 Request Header Fields Too Large",
	} {
		got := ask(t, addr, send)
		if !strings.HasPrefix(got, "HTTP/1.1 "+want+"\r\n") {
			t.Errorf("%.60q: got %q, want %s", send, got, want)
		}
		if _, why, _ := strings.Cut(got, "\r\n\r\n"); len(why) < 10 {
			t.Errorf("%.60q: %q does not say why", send, why)
		}
	}
}

// What clients make it keep is bounded, and is given back.
func TestAFullStoreRefusesAndFreesWhatIsRemoved(t *testing.T) {
	s, addr := serve(t, Limits{Value: 400, Total: 3 * (400 + overhead + 3)})
	put := func(key string, size int) string {
		got := ask(t, addr, fmt.Sprintf("PUT /s/%s HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", key, size, strings.Repeat("v", size)))
		return got[len("HTTP/1.1 "):][:3]
	}
	var got []string
	for _, key := range []string{"1", "2", "3", "4"} {
		got = append(got, put(key, 400))
	}
	ask(t, addr, "DELETE /s/2 HTTP/1.1\r\n\r\n")
	got = append(got, put("4", 400), put("1", 10), put("5", 400), put("5", 100))
	want := []string{"200", "200", "200", "507", "200", "507", "507", "507"}
	// A value that replaces another needs room beside it while it comes in.
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ask(t, addr, "DELETE /s/1 HTTP/1.1\r\n\r\n")
	if got := put("4", 20); got != "200" {
		t.Errorf("room was made, but %s", got)
	}
	if _, used := s.store.content(); used != weight("s/3", 400)+weight("s/4", 20) {
		t.Errorf("%d bytes are counted", used)
	}
}

// A value of which the end never comes leaves nothing behind.
func TestAValueThatBreaksOffIsNone(t *testing.T) {
	s, addr := serve(t, Limits{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "PUT /s/k HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) != 0 {
		t.Errorf("half a value was answered with %q", got)
	}
	_ = conn.Close()
	if values, used := s.store.content(); len(values) != 0 || used != 0 {
		t.Errorf("%d values, %d bytes are left", len(values), used)
	}
}

// Go's own client is a stricter one than gloo's; it, curl and others wait for
// leave to send a body when they ask for it.
func TestAnotherClientIsServedToo(t *testing.T) {
	_, addr := serve(t, Limits{})
	transport := &http.Transport{ExpectContinueTimeout: 1 << 40}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	value := bytes.Repeat([]byte("0123456789"), 100_000)
	req, err := http.NewRequest(http.MethodPut, "http://"+addr+"/s/k", bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	resp, err = client.Get("http://" + addr + "/s/k")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, value) {
		t.Errorf("%d of %d bytes, %v", len(got), len(value), err)
	}
}

// More clients than are answered at once are all answered, one after the other.
func TestManyClientsAreAnsweredInTurn(t *testing.T) {
	_, addr := serve(t, Limits{Conns: 2})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			g := gloo{t, addr, "s", i}
			g.set(fmt.Sprint(i), []byte("value"))
			g.wait(fmt.Sprint((i + 1) % 50))
		})
	}
	wg.Wait()
}

// Close ends clients that wait for nothing, too.
func TestCloseLeavesNothingOpen(t *testing.T) {
	s, addr := serve(t, Limits{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /s"); err != nil {
		t.Fatal(err)
	}
	gloo{t, addr, "s", 0}.set("k", nil) // the first is accepted by now
	s.Close()
	s.Close()
	if got, _ := io.ReadAll(conn); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if again, err := net.Dial("tcp", addr); err == nil {
		_ = again.Close()
		t.Error("somebody still listens")
	}
}

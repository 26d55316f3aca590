package rendezvous

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// FuzzRequest: whatever comes in, the answer is whole HTTP or none, and the
// store counts exactly what it keeps.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"PUT /s/k HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "GET /s/k HTTP/1.1\r\n\r\n", "DELETE /s/k HTTP/1.1\r\n\r\n",
		"PUT /s/k HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nab", "GET /s/k HTTP/1.1\r\nA:\n b\r\n\r\n", "\r\n", "PUT / HTTP/9",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := &Server{limits: Limits{Value: 64, Total: 1 << 10}.filled(), store: store{most: 1 << 10, values: map[string][]byte{"s/k": []byte("old")}}}
		s.store.used = weight("s/k", 3)
		var out bytes.Buffer
		s.answer(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(sent), &out})
		answer := bytes.TrimPrefix(out.Bytes(), []byte("HTTP/1.1 100 Continue\r\n\r\n"))
		if len(answer) > 0 {
			resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
			if err != nil {
				t.Fatalf("%q: %v", answer, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatalf("%q: %v", answer, err)
			}
			_ = resp.Body.Close()
			if phrases[resp.StatusCode] == "" {
				t.Errorf("status %d", resp.StatusCode)
			}
		}
		values, used := s.store.content()
		var want int64
		for key, value := range values {
			want += weight(key, len(value))
		}
		if used != want {
			t.Errorf("%d bytes are counted, %d are kept", used, want)
		}
	})
}

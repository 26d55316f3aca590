package rendezvous

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
)

// headMost bounds a request's first line and headers together.
const headMost = 8 << 10

// request is one request, whose body is still to be read.
type request struct {
	method string
	key    string // scope/key
	length int
	expect bool // the client sends its body only when it is told to
	body   io.Reader
}

// refusal is an answer other than 200 and 404: what is wrong with a request.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// phrases are the statuses of this server in words.
var phrases = map[int]string{
	200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
	413: "Content Too Large", 431: "Request Header Fields Too Large", 501: "Not Implemented",
	505: "HTTP Version Not Supported", 507: "Insufficient Storage",
}

// readRequest reads the head of a request. An error that is no refusal says
// that there was none: the client went away, or took too long.
func readRequest(r io.Reader, mostValue int) (*request, error) {
	limited := &io.LimitedReader{R: r, N: headMost}
	buffered := bufio.NewReader(limited)
	lines := textproto.NewReader(buffered)
	line, err := lines.ReadLine()
	if err != nil {
		return nil, headError(limited, err)
	}
	req, err := firstLine(line)
	if err != nil {
		return nil, err
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return nil, headError(limited, err)
	}
	if err := req.measure(header, mostValue); err != nil {
		return nil, err
	}
	limited.N = max(0, int64(req.length-buffered.Buffered()))
	req.body = io.LimitReader(buffered, int64(req.length))
	return req, nil
}

// headError tells a head that is too long or no HTTP from one that never came.
func headError(limited *io.LimitedReader, err error) error {
	var malformed textproto.ProtocolError
	switch {
	case limited.N <= 0:
		return refuse(431, "more than %d bytes before the body", headMost)
	case errors.As(err, &malformed):
		return refuse(400, "%v", malformed)
	}
	return err
}

// firstLine reads "PUT /scope/key HTTP/1.1". A scope and a key are bytes to us:
// they are compared and never decoded.
func firstLine(line string) (*request, error) {
	words := strings.Split(line, " ")
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/") {
		return nil, refuse(400, "%.100q is no request", line)
	}
	if !strings.HasPrefix(words[2], "HTTP/1.") {
		return nil, refuse(505, "%.20q: HTTP/1.1 is spoken here", words[2])
	}
	switch words[0] {
	case "GET", "PUT", "DELETE":
	default:
		return nil, refuse(405, "%.20q: GET, PUT and DELETE are answered here", words[0])
	}
	key, rooted := strings.CutPrefix(words[1], "/")
	scope, name, found := strings.Cut(key, "/")
	if !rooted || !found || scope == "" || name == "" || strings.Contains(name, "/") {
		return nil, refuse(400, "%.100q: want /scope/key", words[1])
	}
	return &request{method: words[0], key: key}, nil
}

// measure finds out how long the body is.
func (r *request) measure(header textproto.MIMEHeader, most int) error {
	if header.Get("Transfer-Encoding") != "" {
		return refuse(501, "Transfer-Encoding: a body is taken with its Content-Length only")
	}
	r.expect = strings.EqualFold(header.Get("Expect"), "100-continue")
	lengths := header.Values("Content-Length")
	if len(lengths) == 0 {
		if r.method == "PUT" {
			return refuse(411, "Content-Length: missing")
		}
		return nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 63)
	if err != nil || len(lengths) > 1 {
		return refuse(400, "Content-Length: %.100q is no length", strings.Join(lengths, ", "))
	}
	if n > uint64(most) {
		return refuse(413, "a value of %d bytes: at most %d", n, most)
	}
	r.length = int(n)
	return nil
}

// writeAnswer writes a whole answer: the client learns its length and that the
// connection ends with it.
func writeAnswer(w io.Writer, status int, body []byte) error {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\nConnection: close\r\n", status, phrases[status], len(body))
	switch status {
	case 200:
		head += "Content-Type: application/octet-stream\r\n"
	case 405:
		head += "Allow: GET, PUT, DELETE\r\n"
	}
	// One write where it is short: a reader then has it whole in one piece.
	_, err := w.Write(append([]byte(head+"\r\n"), body...))
	return err
}

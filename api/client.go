package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/muster-project/muster/backend"
)

// Client talks to a server over its socket. The zero value with a Socket works.
type Client struct {
	Socket string
	// Start makes a server answer on Socket; nil if the server is not ours to
	// start. It is called when nobody answers.
	Start func(ctx context.Context) error

	http *http.Client
}

// NewClient makes a client. Close it.
func NewClient(socket string, start func(context.Context) error) *Client {
	c := &Client{Socket: socket, Start: start}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, socket) },
		IdleConnTimeout:   10 * time.Second, // a server that wants to end is not kept
		ForceAttemptHTTP2: false,
	}}
	return c
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Hello asks the server who it is.
func (c *Client) Hello(ctx context.Context) (h Hello, err error) {
	return h, c.call(ctx, "GET", "/v1/health", nil, &h)
}

// Shutdown asks a server to end; jobs go on. With idle it refuses while it has any.
func (c *Client) Shutdown(ctx context.Context, idle bool) error {
	return c.once(ctx, "POST", "/v1/shutdown?idle="+strconv.FormatBool(idle), nil, nil)
}

// HasBlob asks whether a blob is there already.
func (c *Client) HasBlob(ctx context.Context, sha string) (bool, error) {
	err := c.call(ctx, "HEAD", "/v1/blobs/"+url.PathEscape(sha), nil, nil)
	var e *Error
	if errors.As(err, &e) && e.Code == CodeUnknown {
		return false, nil
	}
	return err == nil, err
}

// PutBlob uploads a blob; open is called again if the upload must be repeated.
func (c *Client) PutBlob(ctx context.Context, sha string, open func() (io.ReadCloser, error)) error {
	return c.retry(ctx, func() error {
		body, err := open()
		if err != nil {
			return err
		}
		resp, err := c.do(ctx, "PUT", "/v1/blobs/"+url.PathEscape(sha), body)
		if err == nil {
			err = drain(resp)
		}
		return err
	})
}

// Submit hands over a job. It may be repeated.
func (c *Client) Submit(ctx context.Context, s backend.Submission) (ref backend.Ref, err error) {
	return ref, c.call(ctx, "POST", "/v1/jobs", s, &ref)
}

// Jobs lists the caller's jobs; with all, root sees everybody's.
func (c *Client) Jobs(ctx context.Context, all bool) (jobs []Job, err error) {
	return jobs, c.call(ctx, "GET", "/v1/jobs?all="+strconv.FormatBool(all), nil, &jobs)
}

// Job gives one job.
func (c *Client) Job(ctx context.Context, id string) (j Job, err error) {
	return j, c.call(ctx, "GET", jobPath(id, ""), nil, &j)
}

func jobPath(id, rest string) string { return "/v1/jobs/" + url.PathEscape(id) + rest }

// Events streams the lines of a job's journal from a sequence number on; with
// follow it ends when the job is sealed.
func (c *Client) Events(ctx context.Context, id string, from int64, follow bool) iter.Seq2[[]byte, error] {
	q := url.Values{"from": {strconv.FormatInt(from, 10)}, "follow": {strconv.FormatBool(follow)}}
	return func(yield func([]byte, error) bool) {
		for line, err := range c.lines(ctx, "GET", jobPath(id, "/events?"+q.Encode()), nil) {
			if !yield(line, err) {
				return
			}
		}
	}
}

// Logs opens the output of one process of a task.
func (c *Client) Logs(ctx context.Context, id string, l Logs) (io.ReadCloser, error) {
	q := url.Values{"task": {l.Task.String()}, "proc": {strconv.Itoa(l.Proc)}, "stream": {l.Stream},
		"tail": {strconv.Itoa(l.Tail)}, "follow": {strconv.FormatBool(l.Follow)}}
	if !l.Since.IsZero() {
		q.Set("since", l.Since.Format(time.RFC3339Nano))
	}
	resp, err := c.do(ctx, "GET", jobPath(id, "/logs?"+q.Encode()), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Lines streams what the tasks of a job printed, merged by time.
func (c *Client) Lines(ctx context.Context, id string, l Lines) iter.Seq2[Line, error] {
	q := url.Values{"stream": {l.Stream}, "grep": {l.Grep}, "tail": {strconv.Itoa(l.Tail)},
		"incarnation": {strconv.Itoa(l.Incarnation)}, "follow": {strconv.FormatBool(l.Follow)}}
	for _, t := range l.Tasks {
		q.Add("task", t.String())
	}
	if !l.Since.IsZero() {
		q.Set("since", l.Since.Format(time.RFC3339Nano))
	}
	return func(yield func(Line, error) bool) {
		for data, err := range c.lines(ctx, "GET", jobPath(id, "/lines?"+q.Encode()), nil) {
			var line Line
			if err == nil {
				err = json.Unmarshal(data, &line)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// Stop asks a job to end. It may be repeated.
func (c *Client) Stop(ctx context.Context, id string, s Stop) error {
	return c.call(ctx, "POST", jobPath(id, "/stop"), s, nil)
}

// Signal asks for a signal to be sent.
func (c *Client) Signal(ctx context.Context, id string, s Signal) error {
	return c.call(ctx, "POST", jobPath(id, "/signal"), s, nil)
}

// Requeue asks a job to give its slots back and to go on in others.
func (c *Client) Requeue(ctx context.Context, id string, r Requeue) error {
	return c.call(ctx, "POST", jobPath(id, "/requeue"), r, nil)
}

// Capacity asks what the machine has.
func (c *Client) Capacity(ctx context.Context) (k Capacity, err error) {
	return k, c.call(ctx, "GET", "/v1/local/capabilities", nil, &k)
}

// Slots asks for a gang and streams the answers. It does not repeat: the caller does.
func (c *Client) Slots(ctx context.Context, r SlotRequest) iter.Seq2[SlotAnswer, error] {
	return func(yield func(SlotAnswer, error) bool) {
		for line, err := range c.lines(ctx, "POST", "/v1/local/slots", r) {
			var a SlotAnswer
			if err == nil {
				err = json.Unmarshal(line, &a)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// Launched says that executors hold their claims themselves now.
func (c *Client) Launched(ctx context.Context, l Launched) error {
	return c.once(ctx, "POST", "/v1/local/slots/launched", l, nil)
}

// DropSlots withdraws a request, or all of a job with number 0.
func (c *Client) DropSlots(ctx context.Context, job string, number int) error {
	return c.once(ctx, "DELETE", fmt.Sprintf("/v1/local/slots/%s/%d", url.PathEscape(job), number), nil, nil)
}

// call does one request that may be repeated; a server that is not there is started.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	return c.retry(ctx, func() error { return c.once(ctx, method, path, in, out) })
}

func (c *Client) once(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	if out == nil {
		return drain(resp)
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

func drain(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// retry repeats what failed because no server answered, or because the one
// that did ended meanwhile. Everything repeated may be: see the server.
func (c *Client) retry(ctx context.Context, try func() error) error {
	const attempts = 3
	for n := 1; ; n++ {
		err := try()
		if err == nil || !Away(err) || n == attempts || ctx.Err() != nil {
			return err
		}
		if c.Start == nil {
			return fmt.Errorf("%s: no server answers: %w", c.Socket, err)
		}
		if err := c.Start(ctx); err != nil {
			return err
		}
	}
}

// Away says that an error means: no server is there.
func Away(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// do sends one request and turns an answer that is an error into one.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://muster"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	e := &Error{Code: Code(resp.Header.Get(CodeHeader))}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(e); err != nil {
		e.Text = fmt.Sprintf("%s: the server answered %s", c.Socket, resp.Status)
	}
	if e.Code == "" {
		e.Code = CodeInternal
	}
	return nil, e
}

// CodeHeader repeats the code where an answer has no body.
const CodeHeader = "Muster-Error"

// lines streams the lines of an answer.
func (c *Client) lines(ctx context.Context, method, path string, in any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var body io.Reader
		if in != nil {
			data, err := json.Marshal(in)
			if err != nil {
				yield(nil, err)
				return
			}
			body = bytes.NewReader(data)
		}
		resp, err := c.do(ctx, method, path, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		for dec := json.NewDecoder(resp.Body); ; {
			var line json.RawMessage
			err := dec.Decode(&line)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

package yarn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
)

// REST reads what the ResourceManager and the NodeManagers tell over HTTP only:
// scheduler limits, why something waits, values of the running configuration.
// Numbers may come as strings and lists of one as objects, by version; both are
// understood.
type REST struct {
	client *http.Client
	base   []string // of the ResourceManagers, without a slash at the end
	scheme string
	user   string
	at     atomic.Int32 // which base answered last
}

// maxAnswer bounds what is read of one answer: a scheduler with ten thousand
// queues stays below it.
const maxAnswer = 64 << 20

// ErrNotJSON: what answered is no YARN web service, or a standby that knows of
// no active ResourceManager.
var ErrNotJSON = errors.New("the answer is not JSON")

// Refusal is an HTTP status that is not a success.
type Refusal struct {
	URL     string
	Status  int
	Message string
}

func (r *Refusal) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: status %d: %s", r.URL, r.Status, r.Message), ": ")
}

// NewREST takes the addresses out of the configuration; nothing is called yet.
// The user is named where the cluster asks for no proof (user.name); it may be
// empty. A client of nil is one with a timeout of 30 s; one that logs in by
// Kerberos comes from outside.
func NewREST(c *conf.Conf, user string, client *http.Client) (*REST, error) {
	base, err := c.RMWebURLs()
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(base[0], ":")
	return newREST(base, scheme, user, client), nil
}

func newREST(base []string, scheme, user string, client *http.Client) *REST {
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	r := &REST{base: base, scheme: scheme, user: user}
	own := *client
	own.CheckRedirect = r.follow
	r.client = &own
	return r
}

// Close ends idle connections.
func (r *REST) Close() error { r.client.CloseIdleConnections(); return nil }

// follow goes to where a standby sends: the active ResourceManager, which wants
// the user's name as well.
func (r *REST) follow(req *http.Request, via []*http.Request) error {
	if len(via) >= 4 {
		return errors.New("sent on in a circle")
	}
	req.URL.RawQuery = r.query(req.URL.Query()).Encode()
	return nil
}

func (r *REST) query(q url.Values) url.Values {
	if r.user != "" && q.Get("user.name") == "" {
		q.Set("user.name", r.user)
	}
	return q
}

// rm reads a page of the active ResourceManager, trying each in turn.
func (r *REST) rm(ctx context.Context, path string, q url.Values, into any) (http.Header, error) {
	var all []error
	first := int(r.at.Load())
	for i := range r.base {
		n := (first + i) % len(r.base)
		h, err := r.get(ctx, r.base[n]+path, q, into)
		if s := status(err); err == nil || s > 0 && s < http.StatusInternalServerError && !unknownToken(err) {
			r.at.Store(int32(n))
			return h, err
		}
		all = append(all, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(all...)
}

// unknownToken tells that a ResourceManager does not know the token that it was
// shown: a standby has none of those that the active one gave.
func unknownToken(err error) bool {
	r, ok := errors.AsType[*Refusal](err)
	return ok && r.Status == http.StatusForbidden && strings.Contains(r.Message, "InvalidToken")
}

// get reads one URL and decodes its JSON.
func (r *REST) get(ctx context.Context, address string, q url.Values, into any) (http.Header, error) {
	if q == nil {
		q = url.Values{}
	}
	full := address
	if e := r.query(q).Encode(); e != "" {
		full += "?" + e
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, full, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s: the answer is larger than %d bytes", address, maxAnswer)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &Refusal{URL: address, Status: resp.StatusCode, Message: refusal(body)}
	}
	if err := decode(body, into); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("%w: %w", ErrNotJSON, err)
		}
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return resp.Header, nil
}

// refusal finds the words in an error page: a JSON exception, or nothing.
func refusal(body []byte) string {
	var x struct {
		RemoteException struct{ Message string } `json:"RemoteException"`
	}
	if json.Unmarshal(body, &x) == nil {
		return x.RemoteException.Message
	}
	return ""
}

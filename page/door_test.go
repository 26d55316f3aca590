package page_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/page"
	"github.com/muster-project/muster/spec"
)

const (
	proxy    = "127.0.0.1:40000"
	stranger = "127.0.0.2:40000"
)

// door is one at which alice's job is, bob may see it, and so may the group
// research.
func door(t *testing.T) *page.Door {
	return &page.Door{Job: "m-1", Key: "the key", Proxies: []string{"localhost", "::1"}, Front: func() string { return "http://rm:8088/proxy/application_1_0001" },
		Rule: access.Rule{Owner: "alice", Admins: spec.People{Users: []string{"root"}}, ACLs: spec.ACLs{View: spec.People{Users: []string{"bob", "a b"}, Groups: []string{"research"}}}},
		Groups: func(_ context.Context, user string) ([]string, error) {
			return map[string][]string{"dave": {"users", "research"}, "eve": {"users"}}[user], nil
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// knock asks for a page.
func knock(d *page.Door, from, cookie, key, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = from
	if cookie != "" {
		r.Header.Set("Cookie", "proxy-user="+url.QueryEscape(cookie))
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	page.Handler(running(), d).ServeHTTP(w, r)
	return w
}

func TestWhoComesIn(t *testing.T) {
	for name, tc := range map[string]struct {
		from, cookie, key string
		status            int
	}{
		"the owner":                       {proxy, "alice", "", 200},
		"the owner by IPv6":               {"[::1]:40000", "alice", "", 200},
		"an administrator":                {proxy, "root", "", 200},
		"who is named":                    {proxy, "bob", "", 200},
		"one whose name must be escaped":  {proxy, "a b", "", 200},
		"one of a group that is named":    {proxy, "dave", "", 200},
		"one of another group":            {proxy, "eve", "", 403},
		"one of no group":                 {proxy, "dr.who", "", 403},
		"nobody":                          {proxy, "", "", 403},
		"the owner from elsewhere":        {stranger, "alice", "", 302},
		"nobody from elsewhere":           {stranger, "", "", 302},
		"the key":                         {stranger, "", "the key", 200},
		"another key":                     {stranger, "", "a key", 302},
		"another key by way of the proxy": {proxy, "eve", "a key", 403},
	} {
		for _, path := range []string{"/", "/job.json", "/usage.json", "/logs/worker/0/1/out?offset=0"} {
			got := knock(door(t), tc.from, tc.cookie, tc.key, path)
			if got.Code != tc.status {
				t.Errorf("%s, %s: status %d, want %d", name, path, got.Code, tc.status)
			}
			if want := "http://rm:8088/proxy/application_1_0001" + path; tc.status == 302 && got.Header().Get("Location") != want {
				t.Errorf("%s: sent to %s, want %s", name, got.Header().Get("Location"), want)
			}
			if got.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%s, %s: an answer without its policy", name, path)
			}
		}
	}
}

func TestWhoIsRefusedIsToldWhoMayLetThemIn(t *testing.T) {
	got := knock(door(t), proxy, "eve", "", "/")
	if want := "m-1: eve may not see it: it is alice's job\nalice names who else may, by acls.view in the job file\n"; got.Body.String() != want {
		t.Errorf("%q, want %q", got.Body, want)
	}
	d := door(t)
	d.Front = func() string { return "" }
	got = knock(d, stranger, "alice", "", "/")
	if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "proxy") {
		t.Errorf("without a proxy: %d %q", got.Code, got.Body)
	}
}

// A door without a key is opened by none, not even by an empty one.
func TestNoKeyOpensNothing(t *testing.T) {
	d := door(t)
	d.Key = ""
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = stranger
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	page.Handler(running(), d).ServeHTTP(w, r)
	if w.Code != 302 {
		t.Errorf("status %d", w.Code)
	}
}

// Groups are asked for once in a while, and as they were while nobody answers.
func TestGroupsAreRemembered(t *testing.T) {
	d := door(t)
	var asked atomic.Int32
	d.Groups = func(context.Context, string) ([]string, error) {
		if asked.Add(1) == 1 {
			return nil, errors.New("the name node is away")
		}
		return []string{"research"}, nil
	}
	for i, want := range []int{403, 200, 200, 200} {
		if got := knock(d, proxy, "dave", "", "/").Code; got != want {
			t.Errorf("time %d: %d, want %d", i+1, got, want)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want twice", n)
	}
}

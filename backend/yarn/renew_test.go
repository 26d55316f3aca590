package yarn

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/token"
)

// hdfsToken is a NameNode's token of now.
func hdfsToken(service string, whole time.Duration) token.Token {
	id := append([]byte{0}, 1, 'a', 1, 'r', 0)
	now := time.Now()
	id = token.AppendVint(token.AppendVint(id, now.UnixMilli()), now.Add(whole).UnixMilli())
	return token.Token{Kind: token.KindHDFS, Service: service, Identifier: id, Password: []byte("p")}
}

// keeping is a renewal that runs, and what it told.
type renewing struct {
	*Renewal
	began time.Time

	mu       sync.Mutex
	warnings []backend.Warning
}

func renew(t *testing.T, whole time.Duration, source func(context.Context, string) (token.Token, tokenLife, error)) *renewing {
	cred := &token.Credentials{Tokens: []token.Token{{Kind: token.KindRM, Service: "rm"}, hdfsToken("a", whole), hdfsToken("b", 2*whole)}}
	r := &renewing{Renewal: newRenewal(cred, slog.New(slog.DiscardHandler)), began: time.Now()}
	r.source = source
	ctx, cancel := context.WithCancel(t.Context())
	var owned sync.WaitGroup
	owned.Go(func() {
		r.run(ctx, func(w backend.Warning) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, w)
		})
	})
	t.Cleanup(func() { cancel(); owned.Wait() })
	return r
}

func (r *renewing) said() (out []backend.Warning) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(out, r.warnings...)
}

const week = 7 * 24 * time.Hour

// Without a keytab somebody is told in time, with the date; once.
func TestTheEndOfTokensIsForetold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renew(t, week, nil)
		<-time.After(week / 2)
		if w := r.said(); len(w) > 0 {
			t.Errorf("told after half of the time: %v", w)
		}
		<-time.After(week/4 + time.Minute)
		w := r.said()
		if len(w) != 1 || !strings.Contains(w[0].Text, r.began.Add(week).UTC().Format(time.RFC1123)) || !strings.Contains(w[0].Hint, "native.yarn.keytab") {
			t.Errorf("told %v", w)
		}
		<-time.After(2 * week)
		if again := r.said(); len(again) != 1 {
			t.Errorf("told again: %v", again)
		}
		if serial, _, _ := r.Newest(); serial != 0 {
			t.Errorf("credentials %d came from nowhere", serial)
		}
		r.giveBack(t.Context()) // those of the submission are the resource manager's
	})
}

// With one, tokens of all file systems are new long before any of the old ones is
// dead, again and again, and whoever looks is told.
func TestTokensOfAJobAreRenewedForAsLongAsItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		dies := map[string]time.Time{}
		var mu sync.Mutex
		r := renew(t, week, func(_ context.Context, service string) (token.Token, tokenLife, error) {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if end, known := dies[service]; known && now.After(end.Add(-day/5)) {
				t.Errorf("%s: new at %v, the old one dies at %v", service, now, end)
			}
			dies[service] = now.Add(day)
			return hdfsToken(service, week), tokenLife{Issued: now, End: now.Add(day)}, nil
		})
		serial, first, changed := r.Newest()
		if serial != 0 {
			t.Errorf("the first are number %d", serial)
		}
		<-changed
		if after := time.Since(r.began); after < week*2/3 || after > week*3/4 {
			t.Errorf("the first new ones came after %v", after)
		}
		times := 0
		for range 20 {
			newer, data, next := r.Newest()
			c, err := token.Parse(data)
			if err != nil || newer <= serial || string(data) == string(first) {
				t.Fatalf("number %d after %d, %v", newer, serial, err)
			}
			var got []string
			for _, k := range c.Tokens {
				got = append(got, k.String())
			}
			if diff := cmp.Diff([]string{"HDFS_DELEGATION_TOKEN for a", "HDFS_DELEGATION_TOKEN for b"}, got); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(c.Tokens, r.tokens(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Alias" }, cmp.Ignore())); diff != "" {
				t.Fatal("a new container gets others:", diff)
			}
			serial, times = newer, times+1
			<-next
		}
		if w := r.said(); len(w) > 0 || times != 20 {
			t.Errorf("%d times, told %v", times, w)
		}
		var given []string
		r.cancel = func(_ context.Context, k token.Token) error {
			given = append(given, k.Service)
			return errors.New("away") // which nobody waits for
		}
		r.giveBack(t.Context())
		if diff := cmp.Diff([]string{"a", "b"}, given); diff != "" {
			t.Error("given back:", diff)
		}
	})
}

// A failure is tried again while the old ones live, and told of when it lasts.
func TestTokensThatCannotBeHadAreTriedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		tries := 0
		var mu sync.Mutex
		r := renew(t, 80*time.Second, func(_ context.Context, service string) (token.Token, tokenLife, error) {
			mu.Lock()
			defer mu.Unlock()
			if service == "b" && away { // half of them are no use
				tries++
				return token.Token{}, tokenLife{}, errors.New("namenode: away\nat java.lang.Thread")
			}
			now := time.Now()
			return hdfsToken(service, week), tokenLife{Issued: now, End: now.Add(week)}, nil
		})
		<-time.After(75 * time.Second)
		w := r.said()
		if len(w) != 1 || !strings.Contains(w[0].Text, "namenode: away") || strings.Contains(w[0].Text, "java") {
			t.Errorf("told %v", w)
		}
		mu.Lock()
		if tries < 5 {
			t.Errorf("%d tries", tries)
		}
		away = false
		mu.Unlock()
		serial, _, changed := r.Newest()
		if serial != 0 {
			t.Errorf("half of them are number %d", serial)
		}
		<-changed
		if after := time.Since(r.began); after > 80*time.Second {
			t.Errorf("had after %v", after)
		}
	})
}

// An attempt that comes late finds the tokens of the submission dead, and does
// not wait.
func TestALateAttemptGetsNewTokensAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renew(t, -time.Hour, func(_ context.Context, service string) (token.Token, tokenLife, error) {
			now := time.Now()
			return hdfsToken(service, week), tokenLife{Issued: now, End: now.Add(week)}, nil
		})
		serial, _, changed := r.Newest()
		if serial == 0 { // they may be there before we look
			<-changed
		}
		if serial, _, _ = r.Newest(); serial == 0 {
			t.Error("nothing new")
		}
		if after := time.Since(r.began); after > time.Second {
			t.Errorf("had after %v", after)
		}
	})
}

func TestAClusterThatWantsNoTokensHasNoneRenewed(t *testing.T) {
	r := newRenewal(&token.Credentials{Tokens: []token.Token{{Kind: token.KindAMRM}}}, slog.New(slog.DiscardHandler))
	if r != nil || r.tokens() != nil {
		t.Errorf("%+v", r)
	}
	r.run(t.Context(), nil)
	r.giveBack(t.Context())
}

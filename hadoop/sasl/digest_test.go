package sasl

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The example of RFC 2831, section 4.
func TestDigestOfTheRFC(t *testing.T) {
	const nonce, cnonce, uri = "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "imap/elwood.innosoft.com"
	ha1 := digestHA1("chris", "elwood.innosoft.com", "secret", nonce, cnonce)
	if got, want := digestResponse(ha1, nonce, cnonce, "auth", "AUTHENTICATE", uri), "d388dad90d4bbd760a152321f2143af7"; got != want {
		t.Errorf("response %s, want %s", got, want)
	}
	if got, want := digestResponse(ha1, nonce, cnonce, "auth", "", uri), "ea40f60335c427b5527b84dbabcdfffd"; got != want {
		t.Errorf("rspauth %s, want %s", got, want)
	}
}

// transcript is one exchange of testdata/jvm.txt.
type transcript struct {
	name, challenge, response, rspauth string
	toServer, toClient                 [][2]string // text, wrapped in base64
}

func transcripts(t *testing.T) []transcript {
	t.Helper()
	f, err := os.Open("testdata/jvm.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []transcript
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if name, ok := strings.CutPrefix(line, "== "); ok {
			out = append(out, transcript{name: name})
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		x := &out[len(out)-1]
		word, rest, _ := strings.Cut(strings.Replace(line, "\t", " ", 1), " ")
		text, wrapped, _ := strings.Cut(rest, "\t")
		switch word {
		case "challenge":
			x.challenge = rest
		case "response":
			x.response = rest
		case "rspauth":
			x.rspauth = rest
		case "c2s":
			x.toServer = append(x.toServer, [2]string{text, wrapped})
		case "s2c":
			x.toClient = append(x.toClient, [2]string{text, wrapped})
		}
	}
	if len(out) != 4 {
		t.Fatalf("%d transcripts, want 4", len(out))
	}
	return out
}

// What a JVM's client says, ours says too, to the byte, and what its server
// wraps, ours reads.
func TestDigestAsAJVM(t *testing.T) {
	for _, x := range transcripts(t) {
		t.Run(x.name, func(t *testing.T) {
			if strings.Contains(x.name, "3des") {
				// Servers offer both; this one is to be met with the second choice.
				x.challenge = strings.Replace(x.challenge, "rc4,", "", 1)
			}
			theirs, err := directives(x.response)
			if err != nil {
				t.Fatal(err)
			}
			d := Digest{User: "aWRlbnRpZmllcg==", Password: "cGFzc3dvcmQ=", URI: "/default"}.start()
			d.cnonce = first(theirs, "cnonce")
			response, err := d.Step([]byte(x.challenge))
			if err != nil {
				t.Fatal(err)
			}
			ours, err := directives(string(response))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("response (-jvm +ours):\n%s", diff)
			}
			if _, err := d.Step([]byte(x.rspauth)); err != nil {
				t.Fatal(err)
			}
			l, err := d.Layer()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range x.toServer {
				got, err := l.Wrap([]byte(m[0]))
				if err != nil {
					t.Fatal(err)
				}
				if b64 := base64.StdEncoding.EncodeToString(got); b64 != m[1] {
					t.Errorf("%q is wrapped as %s, by a JVM as %s", m[0], b64, m[1])
				}
			}
			for _, m := range x.toClient {
				wrapped, err := base64.StdEncoding.DecodeString(m[1])
				if err != nil {
					t.Fatal(err)
				}
				got, err := l.Unwrap(wrapped)
				if err != nil || string(got) != m[0] {
					t.Errorf("%q is unwrapped as %q, %v", m[0], got, err)
				}
			}
		})
	}
}

func TestDigestRefuses(t *testing.T) {
	const good = `realm="default",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`
	tests := []struct {
		name, challenge string
		least           Protection
		want            error
		says            string
	}{
		{name: "no nonce", challenge: `qop="auth",algorithm=md5-sess`, want: ErrDigest, says: "nonce"},
		{name: "another algorithm", challenge: strings.Replace(good, "md5-sess", "md5", 1), want: ErrDigest, says: `"md5"`},
		{name: "two nonces", challenge: good + `,nonce="def"`, want: ErrDigest, says: "nonce stands twice"},
		{name: "too weak", challenge: good, least: Integrity, want: ErrProtection, says: "offers auth; the least allowed is integrity (auth-int)"},
		{name: "integrity where privacy is wanted", challenge: strings.Replace(good, `"auth"`, `"auth,auth-int"`, 1), least: Privacy, want: ErrProtection, says: "auth, auth-int"},
		{name: "no cipher", challenge: strings.Replace(good, `"auth"`, `"auth-conf",cipher="des,rc4-40"`, 1), want: ErrProtection, says: "des, rc4-40"},
		{name: "unknown qop", challenge: strings.Replace(good, `"auth"`, `"auth-quantum"`, 1), want: ErrProtection, says: "auth-quantum"},
		{name: "tiny buffer", challenge: good + `,maxbuf=20`, want: ErrDigest, says: "20"},
		{name: "nonsense buffer", challenge: good + `,maxbuf=x`, want: ErrDigest, says: "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Digest{URI: "/default", Least: tt.least}.Start()
			_, err := d.Step([]byte(tt.challenge))
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.says)
			}
		})
	}
	t.Run("a server without the password", func(t *testing.T) {
		d := Digest{URI: "/default"}.Start()
		if _, err := d.Step([]byte(good)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Layer(); !errors.Is(err, ErrDigest) {
			t.Errorf("the exchange ended early with %v, want %v", err, ErrDigest)
		}
		if _, err := d.Step([]byte("rspauth=ee27c626b0d182135f605795fbfc3bdc")); !errors.Is(err, ErrDigest) {
			t.Errorf("a wrong proof gives %v, want %v", err, ErrDigest)
		}
	})
}

// layers makes both ends of a layer.
func layers(t testing.TB, level Protection, cipher string) (client, server *digestLayer) {
	t.Helper()
	ha1 := digestHA1("u", "r", "p", "n", "c")
	client, err := newDigestLayer(ha1, level, cipher, ownBuffer, false)
	if err != nil {
		t.Fatal(err)
	}
	if server, err = newDigestLayer(ha1, level, cipher, ownBuffer, true); err != nil {
		t.Fatal(err)
	}
	return client, server
}

var levels = []struct {
	name   string
	level  Protection
	cipher string
}{
	{"integrity", Integrity, ""},
	{"privacy with rc4", Privacy, "rc4"},
	{"privacy with 3des", Privacy, "3des"},
}

func TestLayerRoundTrip(t *testing.T) {
	for _, l := range levels {
		t.Run(l.name, rapid.MakeCheck(func(rt *rapid.T) {
			client, server := layers(t, l.level, l.cipher)
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				from, to := client, server
				if rapid.Bool().Draw(rt, "back") {
					from, to = server, client
				}
				text := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "text")
				wrapped, err := from.Wrap(text)
				if err != nil {
					rt.Fatal(err)
				}
				got, err := to.Unwrap(wrapped)
				if err != nil || !bytes.Equal(got, text) {
					rt.Fatalf("%x came back as %x, %v", text, got, err)
				}
			}
		}))
	}
}

// A changed, repeated, dropped or cut message is refused, whatever bit it is.
func TestLayerRefusesForgeries(t *testing.T) {
	for _, l := range levels {
		t.Run(l.name, func(t *testing.T) {
			client, _ := layers(t, l.level, l.cipher)
			one, _ := client.Wrap([]byte("pay 10 to bob"))
			two, _ := client.Wrap([]byte("pay 20 to eve"))
			refuse := func(what string, m []byte, before ...[]byte) {
				t.Helper()
				_, server := layers(t, l.level, l.cipher)
				for _, b := range before {
					if _, err := server.Unwrap(b); err != nil {
						t.Fatal(err)
					}
				}
				if text, err := server.Unwrap(m); !errors.Is(err, ErrProtection) {
					t.Errorf("%s: got %q, %v, want %v", what, text, err, ErrProtection)
				}
			}
			for i := range one {
				for bit := range 8 {
					m := bytes.Clone(one)
					m[i] ^= 1 << bit
					refuse("a flipped bit", m)
				}
			}
			for n := range one {
				refuse("a cut message", one[:n])
			}
			refuse("the second alone", two)
			refuse("the first twice", one, one)
			if l.level == Privacy && bytes.Contains(one, []byte("bob")) {
				t.Error("the text can be read")
			}
			client2, _ := layers(t, l.level, l.cipher)
			if _, err := client2.Unwrap(one); !errors.Is(err, ErrProtection) {
				t.Errorf("our own message reflected: %v, want %v", err, ErrProtection)
			}
		})
	}
}

func TestLayerFitsTheBuffer(t *testing.T) {
	for _, l := range levels {
		client, _ := layers(t, l.level, l.cipher)
		wrapped, err := client.Wrap(make([]byte, client.Max()))
		if err != nil || len(wrapped) > ownBuffer {
			t.Errorf("%s: %d bytes become %d, %v; the buffer is %d", l.name, client.Max(), len(wrapped), err, ownBuffer)
		}
	}
}

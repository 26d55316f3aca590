package kerberos

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/types"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/sasl"
)

// ends makes both ends of a layer.
func ends(t interface{ Fatal(...any) }, key types.EncryptionKey, level sasl.Protection, byServer bool) (client, server *layer) {
	c := &securityContext{key: key, byServer: byServer, out: 7, in: 1 << 31}
	client, err := newLayer(c, level)
	if err != nil {
		t.Fatal(err)
	}
	s := *client
	s.acceptor, s.out, s.in = true, c.in, c.out
	return client, &s
}

// What a JVM wraps is read here, and what it signs is signed here to the byte,
// at each encryption type.
func TestLayerAsAJVM(t *testing.T) {
	f, err := os.Open("testdata/jvm.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var key types.EncryptionKey
	seen := map[int32]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if id, ok := strings.CutPrefix(s.Text(), "== etype "); ok {
			n, _ := strconv.Atoi(id)
			key.KeyType = int32(n)
			continue
		}
		if k, ok := strings.CutPrefix(s.Text(), "key "); ok {
			key.KeyValue, _ = hex.DecodeString(k)
			continue
		}
		w := strings.Split(s.Text(), "\t")
		if len(w) != 4 {
			continue
		}
		token, err := hex.DecodeString(w[3])
		if err != nil {
			t.Fatal(err)
		}
		level := sasl.Integrity
		if w[1] == "true" {
			level = sasl.Privacy
		}
		from, to := ends(t, key, level, false)
		if w[0] == "s2c" {
			from, to = to, from
		}
		from.out = binary.BigEndian.Uint64(token[8:])
		to.in = from.out
		got, err := to.Unwrap(token)
		if err != nil || string(got) != w[2] {
			t.Errorf("etype %d: %s: %q, %v, want %q", key.KeyType, w[0], got, err, w[2])
		}
		ours, err := from.Wrap([]byte(w[2]))
		if err != nil || len(ours) != len(token) || level == sasl.Integrity && !bytes.Equal(ours, token) {
			t.Errorf("etype %d: %q is wrapped as %x, %v, by a JVM as %x", key.KeyType, w[2], ours, err, token)
		}
		seen[key.KeyType]++
	}
	for _, id := range etypes {
		if seen[id] != 20 {
			t.Errorf("%d vectors of %s", seen[id], etypeName(id))
		}
	}
}

func TestLayerRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		level := rapid.SampledFrom([]sasl.Protection{sasl.Integrity, sasl.Privacy}).Draw(rt, "level")
		client, server := ends(rt, newKey(rapid.SampledFrom(etypes).Draw(rt, "etype")), level, rapid.Bool().Draw(rt, "server's key"))
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			from, to := client, server
			if rapid.Bool().Draw(rt, "back") {
				from, to = server, client
			}
			text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "text")
			token, err := from.Wrap(text)
			if err != nil {
				rt.Fatal(err)
			}
			// Any rotation is the same token.
			turn := rapid.IntRange(0, 3*len(token)).Draw(rt, "rotation") & 0xffff
			body := token[wrapHeader:]
			at := len(body) - turn%len(body)
			turned := append(append(bytes.Clone(token[:wrapHeader]), body[at:]...), body[:at]...)
			binary.BigEndian.PutUint16(turned[6:], uint16(turn))
			got, err := to.Unwrap(turned)
			if err != nil || !bytes.Equal(got, text) {
				rt.Fatalf("%x came back as %x, %v", text, got, err)
			}
		}
	})
}

// A changed, cut, repeated, dropped, reflected or unsealed token is refused,
// whatever bit of it was touched.
func TestLayerRefusesForgeries(t *testing.T) {
	for _, id := range etypes {
		for _, level := range []sasl.Protection{sasl.Integrity, sasl.Privacy} {
			t.Run(etypeName(id)+" "+level.String(), func(t *testing.T) {
				key := newKey(id)
				client, _ := ends(t, key, level, false)
				one, _ := client.Wrap([]byte("pay 10 to bob"))
				two, _ := client.Wrap([]byte("pay 20 to eve"))
				refuse := func(what string, token []byte, before ...[]byte) {
					t.Helper()
					_, server := ends(t, key, level, false)
					for _, b := range before {
						if _, err := server.Unwrap(b); err != nil {
							t.Fatal(err)
						}
					}
					if text, err := server.Unwrap(token); !errors.Is(err, sasl.ErrProtection) {
						t.Errorf("%s: %q, %v, want %v", what, text, err, sasl.ErrProtection)
					}
				}
				for i := range one {
					for bit := range 8 {
						b := bytes.Clone(one)
						b[i] ^= 1 << bit
						refuse("bit "+strconv.Itoa(8*i+bit), b)
					}
				}
				for n := range one {
					refuse("cut", one[:n])
				}
				refuse("the second alone", two)
				refuse("the first twice", one, one)
				if level == sasl.Privacy && bytes.Contains(one, []byte("bob")) {
					t.Error("the text can be read")
				}
				again, _ := ends(t, key, level, false)
				if _, err := again.Unwrap(one); !errors.Is(err, sasl.ErrProtection) {
					t.Errorf("our own token reflected: %v", err)
				}
				other := sasl.Integrity + sasl.Privacy - level
				weak, _ := ends(t, key, other, false)
				token, _ := weak.Wrap([]byte("pay 10 to bob"))
				refuse("a token of "+other.String(), token)
				asServer, _ := ends(t, key, level, true)
				token, _ = asServer.Wrap([]byte("pay 10 to bob"))
				refuse("a token of a key that the server did not make", token)
				_, stranger := ends(t, newKey(id), level, false)
				stranger.acceptor = false
				token, _ = stranger.Wrap([]byte("pay 10 to bob"))
				refuse("a token of another key", token)
			})
		}
	}
}

func TestLayerFitsTheBuffer(t *testing.T) {
	for _, id := range etypes {
		for _, level := range []sasl.Protection{sasl.Integrity, sasl.Privacy} {
			client, _ := ends(t, newKey(id), level, false)
			if err := client.limit(65536); err != nil {
				t.Fatal(err)
			}
			token, err := client.Wrap(make([]byte, client.Max()))
			if err != nil || len(token) > 65536 {
				t.Errorf("%s at %v: %d bytes become %d, %v", etypeName(id), level, client.Max(), len(token), err)
			}
			if err := client.limit(50); err == nil {
				t.Error("a tiny buffer is taken")
			}
		}
	}
}

func FuzzUnwrap(f *testing.F) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)}
	for _, level := range []sasl.Protection{sasl.Integrity, sasl.Privacy} {
		client, _ := ends(f, key, level, false)
		token, _ := client.Wrap([]byte("hello"))
		f.Add(token, level == sasl.Privacy)
	}
	f.Fuzz(func(t *testing.T, token []byte, sealed bool) {
		level := sasl.Integrity
		if sealed {
			level = sasl.Privacy
		}
		_, server := ends(t, key, level, false)
		text, err := server.Unwrap(token)
		if err == nil && string(text) != "hello" {
			t.Fatalf("%x is taken as %q", token, text)
		}
	})
}

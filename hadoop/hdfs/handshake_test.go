package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// node plays the DataNode's half of a handshake.
type node struct {
	sasl.Offer
	password string
	aes      bool
	// instead answers a message otherwise: 0 is the first, 1 the second.
	instead func(step int, m *hdfspb.EncryptorMessage)
}

var wants = sasl.Digest{User: "dXNlcg==", Password: "cGFzcw==", URI: digestURI}

func offering(qop, cipher string) node {
	return node{Offer: sasl.Offer{Realm: "0", Nonce: "bm9uY2U=", QOP: qop, Cipher: cipher, URI: digestURI}, password: wants.Password}
}

// serve does the handshake and gives the connection as the DataNode sees it.
func (n node) serve(conn net.Conn) (net.Conn, error) {
	h := &handshake{conn: conn, in: bufio.NewReader(conn)}
	var magic [4]byte
	if _, err := io.ReadFull(h.in, magic[:]); err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(magic[:]) != handshakeMagic {
		return nil, errors.New("no magic")
	}
	if _, err := h.receive(); err != nil {
		return nil, err
	}
	if err := n.answer(h, 0, message(n.Challenge())); err != nil {
		return nil, err
	}
	m, err := h.receive()
	if err != nil {
		return nil, err
	}
	last, layer, err := n.Check(m.GetPayload(), n.password)
	if err != nil {
		return nil, err
	}
	reply := message(last)
	var counting *counter
	if n.aes && len(m.GetCipherOption()) == 1 && layer != nil && layer.Protection() == sasl.Privacy {
		counting, err = n.count(h, layer, reply)
		if err != nil {
			return nil, err
		}
	}
	if err := n.answer(h, 1, reply); err != nil {
		return nil, err
	}
	switch {
	case counting != nil:
		return counting, nil
	case layer == nil:
		return &buffered{Conn: conn, in: h.in}, nil
	}
	return &sealed{Conn: conn, in: h.in, layer: layer}, nil
}

func (n node) answer(h *handshake, step int, m *hdfspb.EncryptorMessage) error {
	if n.instead != nil {
		n.instead(step, m)
	}
	return h.send(nil, m)
}

// count makes keys and tells them.
func (n node) count(h *handshake, layer sasl.Layer, m *hdfspb.EncryptorMessage) (*counter, error) {
	stream := func(key, iv string) cipher.Stream {
		block, err := aes.NewCipher([]byte(key))
		if err != nil {
			panic(err)
		}
		return cipher.NewCTR(block, []byte(iv))
	}
	in, out := [2]string{"0123456789abcdef", "its way in 16 by"}, [2]string{"fedcba9876543210", "its way out 16 b"}
	inKey, err := layer.Wrap([]byte(in[0]))
	if err != nil {
		return nil, err
	}
	outKey, err := layer.Wrap([]byte(out[0]))
	if err != nil {
		return nil, err
	}
	m.CipherOption = []*hdfspb.CipherOption{{Suite: hdfspb.CipherSuite_AES_CTR_NOPADDING.Enum(),
		InKey: inKey, InIv: []byte(in[1]), OutKey: outKey, OutIv: []byte(out[1])}}
	return &counter{Conn: h.conn, in: cipher.StreamReader{S: stream(in[0], in[1]), R: h.in}, out: stream(out[0], out[1])}, nil
}

// tap notes what goes over a connection.
type tap struct {
	net.Conn
	seen bytes.Buffer
}

func (c *tap) Write(p []byte) (int, error) {
	c.seen.Write(p)
	return c.Conn.Write(p)
}

// pair connects the two ends by a real connection, since a pipe has no buffer.
func pair(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := ln.Accept() // nil where the dialling failed, which is told
		accepted <- c
	}()
	ours, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs = <-accepted
	until := time.Now().Add(2 * time.Minute) // a test that waits for nothing fails
	for _, c := range []net.Conn{ours, theirs} {
		if err := c.SetDeadline(until); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // the test may have done so
	}
	return ours, theirs
}

// meet does a handshake between both halves.
func meet(t testing.TB, n node, d sasl.Digest, suites bool, conn net.Conn, their net.Conn) (ours, theirs net.Conn, err error) {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		var err error
		if theirs, err = n.serve(their); err != nil {
			_ = their.Close() // as a DataNode does
		}
		served <- err
	}()
	ours, err = shake(conn, d, suites)
	if err != nil {
		_ = conn.Close() // as datanode does
	}
	if serr := <-served; err == nil && serr != nil {
		t.Fatalf("the other half: %v", serr)
	}
	return ours, theirs, err
}

func TestWhatIsAgreedProtectsBothWays(t *testing.T) {
	levels := map[string]sasl.Protection{"auth": sasl.Authentication, "auth-int": sasl.Integrity, "auth-conf": sasl.Privacy}
	for name, tc := range map[string]struct {
		n      node
		suites bool
		hidden bool
	}{
		"authentication":           {offering("auth", ""), false, false},
		"integrity":                {offering("auth,auth-int", ""), false, false},
		"privacy, rc4":             {offering("auth,auth-int,auth-conf", "3des,rc4"), false, true},
		"privacy, 3des":            {offering("auth-conf", "3des"), false, true},
		"AES":                      {node{Offer: offering("auth-conf", "rc4").Offer, password: wants.Password, aes: true}, true, true},
		"AES, 3des for its keys":   {node{Offer: offering("auth-conf", "3des").Offer, password: wants.Password, aes: true}, true, true},
		"AES, which it knows not":  {offering("auth-conf", "rc4"), true, true},
		"AES, with integrity only": {node{Offer: offering("auth-int", "").Offer, password: wants.Password, aes: true}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			conn, their := pair(t)
			wire := &tap{Conn: conn}
			ours, theirs, err := meet(t, tc.n, wants, tc.suites, wire, their)
			if err != nil {
				t.Fatal(err)
			}
			qop := strings.Split(tc.n.QOP, ",")
			if s, ok := ours.(*sealed); ok && s.layer.Protection() != levels[qop[len(qop)-1]] {
				t.Errorf("%v is not the strongest of %s", s.layer.Protection(), tc.n.QOP)
			}
			if _, counts := ours.(*counter); counts != (tc.n.aes && tc.suites && tc.hidden) {
				t.Errorf("the connection is a %T", ours)
			}
			echoed := make(chan error, 1)
			go func() {
				_, err := io.Copy(theirs, theirs)
				echoed <- err
			}()
			echo := func(t interface{ Fatal(...any) }, length int) {
				text := bytes.Repeat([]byte("not to be seen "), length)
				wire.seen.Reset()
				sent := make(chan error, 1)
				go func() {
					_, err := ours.Write(text)
					sent <- err
				}()
				got := make([]byte, len(text))
				_, err := io.ReadFull(ours, got)
				if err := errors.Join(err, <-sent); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, text) {
					t.Fatal("what comes back is not what went")
				}
				if tc.hidden == bytes.Contains(wire.seen.Bytes(), []byte("not to be seen")) {
					t.Fatal("whether it can be seen on the wire is not as agreed")
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				for range rapid.IntRange(1, 3).Draw(t, "pieces") {
					echo(t, rapid.IntRange(1, 100).Draw(t, "length"))
				}
			})
			for _, length := range []int{4366, 4367, 9000} { // one wrapped piece, and several
				echo(t, length)
			}
			_ = ours.Close()
			<-echoed
		})
	}
}

func TestWhatNoHandshakeMayEndWith(t *testing.T) {
	option := &hdfspb.CipherOption{Suite: hdfspb.CipherSuite_AES_CTR_NOPADDING.Enum()}
	last := func(change func(m *hdfspb.EncryptorMessage)) func(int, *hdfspb.EncryptorMessage) {
		return func(step int, m *hdfspb.EncryptorMessage) {
			if step == 1 {
				change(m)
			}
		}
	}
	says := func(status hdfspb.EncryptorMessage_Status, text string, token bool) func(int, *hdfspb.EncryptorMessage) {
		return last(func(m *hdfspb.EncryptorMessage) {
			m.Status, m.Payload, m.Message = status.Enum(), nil, &text
			if token {
				m.AccessTokenError = &token
			}
		})
	}
	privacy := wants
	privacy.Least = sasl.Privacy
	for name, tc := range map[string]struct {
		d       sasl.Digest
		suites  bool
		qop     string
		instead func(int, *hdfspb.EncryptorMessage)
		is      error
		stale   bool
		text    string
	}{
		"too weak": {privacy, false, "auth,auth-int", nil, sasl.ErrProtection, false, "the server offers auth, auth-int"},
		"a DataNode that has not the token's key": {wants, false, "auth", last(func(m *hdfspb.EncryptorMessage) {
			m.Payload = []byte("rspauth=00000000000000000000000000000000")
		}), sasl.ErrDigest, false, "does not know the password"},
		"no proof": {wants, false, "auth", last(func(m *hdfspb.EncryptorMessage) { m.Payload = nil }), sasl.ErrDigest, false, "does not know the password"},
		"a suite that was not offered": {wants, false, "auth-conf", last(func(m *hdfspb.EncryptorMessage) {
			m.CipherOption = []*hdfspb.CipherOption{option}
		}), sasl.ErrProtection, false, "was not offered"},
		"a suite without privacy": {wants, true, "auth", last(func(m *hdfspb.EncryptorMessage) {
			m.CipherOption = []*hdfspb.CipherOption{option}
		}), sasl.ErrProtection, false, "was not offered"},
		"two suites": {wants, true, "auth-conf", last(func(m *hdfspb.EncryptorMessage) {
			m.CipherOption = []*hdfspb.CipherOption{option, option}
		}), sasl.ErrProtection, false, "was not offered"},
		"keys that are not wrapped": {wants, true, "auth-conf", last(func(m *hdfspb.EncryptorMessage) {
			m.CipherOption = []*hdfspb.CipherOption{{Suite: option.Suite, InKey: []byte("0123456789abcdef"), InIv: make([]byte, 16),
				OutKey: []byte("0123456789abcdef"), OutIv: make([]byte, 16)}}
		}), sasl.ErrProtection, false, "changed, lost or repeated"},
		"an old key":                {wants, false, "auth", says(hdfspb.EncryptorMessage_UNKNOWN_KEY, "no such key", false), nil, true, "the datanode says: no such key"},
		"an old token":              {wants, false, "auth", says(hdfspb.EncryptorMessage_ERROR, "expired", true), nil, true, "the datanode says: expired"},
		"an old token, before 3.4":  {wants, false, "auth", says(hdfspb.EncryptorMessage_ERROR, "DIGEST-MD5: IO error acquiring password", false), nil, true, "acquiring password"},
		"something else":            {wants, false, "auth", says(hdfspb.EncryptorMessage_ERROR, "no", false), nil, false, "the datanode says: no"},
		"another challenge is sent": {wants, false, "auth", func(step int, m *hdfspb.EncryptorMessage) { m.Payload = []byte("x") }, sasl.ErrDigest, false, "digest-md5"},
	} {
		t.Run(name, func(t *testing.T) {
			n := offering(tc.qop, "rc4")
			n.instead = tc.instead
			conn, their := pair(t)
			_, _, err := meet(t, n, tc.d, tc.suites, conn, their)
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || errors.Is(err, errStale) != tc.stale || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v (stale: %v), want %s", err, errors.Is(err, errStale), tc.text)
			}
		})
	}
}

// Who sits between changes, repeats, leaves out, cuts or makes up: nothing of it
// is ever read.
func TestForgedBytesAreNotRead(t *testing.T) {
	const text = "what the datanode says"
	for _, level := range []string{"auth-int", "auth-conf"} {
		for name, tc := range map[string]struct {
			forge func(first, second []byte) []byte
			is    error
			good  int // how much is right before
		}{
			"a bit":           {func(a, b []byte) []byte { a[7] ^= 4; return a }, sasl.ErrProtection, 0},
			"its last bit":    {func(a, b []byte) []byte { a[len(a)-1] ^= 1; return a }, sasl.ErrProtection, 0},
			"repeated":        {func(a, b []byte) []byte { return append(a, a...) }, sasl.ErrProtection, 1},
			"left out":        {func(a, b []byte) []byte { return b }, sasl.ErrProtection, 0},
			"in other order":  {func(a, b []byte) []byte { return append(b, a...) }, sasl.ErrProtection, 0},
			"cut":             {func(a, b []byte) []byte { return a[:len(a)-3] }, io.ErrUnexpectedEOF, 0},
			"cut in a length": {func(a, b []byte) []byte { return append(a, b[:2]...) }, io.ErrUnexpectedEOF, 1},
			"not wrapped":     {func(a, b []byte) []byte { return []byte("\x00\x00\x00\x16" + text) }, sasl.ErrProtection, 0},
			"no pieces":       {func(a, b []byte) []byte { return []byte(strings.Repeat(text, 3)) }, sasl.ErrProtection, 0},
			"too long":        {func(a, b []byte) []byte { return []byte{0x7f, 0xff, 0xff, 0xff, 0} }, sasl.ErrProtection, 0},
			"empty pieces":    {func(a, b []byte) []byte { return append(make([]byte, 8), append(a, b...)...) }, nil, 2},
		} {
			t.Run(level+", "+name, func(t *testing.T) {
				conn, their := pair(t)
				ours, theirs, err := meet(t, offering(level, "rc4"), wants, false, conn, their)
				if err != nil {
					t.Fatal(err)
				}
				pieces := make([][]byte, 2)
				for i := range pieces {
					w, err := theirs.(*sealed).layer.Wrap([]byte(text))
					if err != nil {
						t.Fatal(err)
					}
					pieces[i] = append(binary.BigEndian.AppendUint32(nil, uint32(len(w))), w...)
				}
				if _, err := their.Write(tc.forge(bytes.Clone(pieces[0]), pieces[1])); err != nil {
					t.Fatal(err)
				}
				_ = their.Close()
				got, err := io.ReadAll(ours)
				if !errors.Is(err, tc.is) || string(got) != strings.Repeat(text, tc.good) {
					t.Errorf("read %q, %v", got, err)
				}
			})
		}
	}
}

// The form is Hadoop's: magic, then messages behind their length.
func TestTheFormOfAHandshake(t *testing.T) {
	conn, their := pair(t)
	wire := &tap{Conn: conn}
	if _, _, err := meet(t, offering("auth", ""), wants, true, wire, their); err != nil {
		t.Fatal(err)
	}
	text := hex.EncodeToString(wire.seen.Bytes())
	if !strings.HasPrefix(text, "deadbeef"+"04"+"0800"+"1200") || !strings.HasSuffix(text, "2202"+"0802") {
		t.Errorf("%s", text)
	}
}

func TestHowADataPortIsProtected(t *testing.T) {
	kerberos := map[string]string{"hadoop.security.authentication": "kerberos"}
	protected := map[string]string{"hadoop.security.authentication": "kerberos", protectionKey: "privacy,integrity"}
	key := &hdfspb.DataEncryptionKey{KeyId: proto.Uint32(7), BlockPoolId: text("BP-1"), Nonce: []byte("n"), EncryptionKey: []byte("k"),
		ExpiryDate: proto.Uint64(uint64(time.Now().Add(time.Hour).UnixMilli())), EncryptionAlgorithm: text("3des")}
	token := &ipcpb.Token{Identifier: []byte("user"), Password: []byte("pass"), Kind: text("HDFS_BLOCK_TOKEN"), Service: text("")}
	none := &ipcpb.Token{Identifier: []byte{}, Password: []byte{}, Kind: text(""), Service: text("")}
	for name, tc := range map[string]struct {
		conf  map[string]string
		port  uint32
		token *ipcpb.Token
		key   *hdfspb.DataEncryptionKey
		user  string // "" where there is no handshake
		err   string
	}{
		"nothing is checked":               {nil, 9866, none, nil, "", ""},
		"tokens are, nobody proves":        {map[string]string{protectionKey: "privacy"}, 9866, token, nil, "", ""},
		"Kerberos, no protection":          {kerberos, 9866, token, nil, "", ""},
		"a privileged port":                {protected, 1004, token, nil, "", ""},
		"the first port that is not":       {protected, 1024, token, nil, "dXNlcg==", ""},
		"by token":                         {protected, 9866, token, nil, "dXNlcg==", ""},
		"no token where one is wanted":     {protected, 9866, none, nil, "", "dfs.block.access.token.enable"},
		"encrypted":                        {nil, 9866, token, key, "7 BP-1 bg==", ""},
		"encrypted, at a privileged port":  {protected, 1004, token, key, "7 BP-1 bg==", ""},
		"encrypted, and protection is set": {protected, 9866, token, key, "7 BP-1 bg==", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := newGuard(conf.New(tc.conf))
			if err != nil {
				t.Fatal(err)
			}
			g.ask = func(context.Context) (*hdfspb.DataEncryptionKey, error) { return tc.key, nil }
			conn, their := pair(t)
			claimed := make(chan string, 1)
			go func() {
				n := offering("auth-int,auth-conf", "rc4,3des")
				n.password = "cGFzcw=="
				if tc.key != nil {
					n.password = "aw=="
				}
				claimed <- claim(n, their)
			}()
			lb := &hdfspb.LocatedBlock{BlockToken: tc.token}
			out, err := g.wrap(t.Context(), conn, &hdfspb.DatanodeID{XferPort: &tc.port}, lb)
			if err == nil && tc.user == "" && out != conn {
				t.Errorf("it is wrapped: %T", out)
			}
			_ = conn.Close()
			if got := <-claimed; got != tc.user {
				t.Errorf("claims to be %q, want %q", got, tc.user)
			}
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, want %s", err, tc.err)
			}
		})
	}
}

// claim does a handshake and gives who the client says it is, "" if it says nothing.
func claim(n node, conn net.Conn) string {
	wire := &recorder{Conn: conn}
	defer conn.Close()
	if _, err := n.serve(wire); err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(wire.seen.Bytes(), []byte("username="))
	name, _, _ := bytes.Cut(rest, []byte("realm"))
	user, err := n.Claimed(append([]byte("username="), name...))
	if err != nil {
		return fmt.Sprint(err)
	}
	return user
}

type recorder struct {
	net.Conn
	seen bytes.Buffer
}

func (c *recorder) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.seen.Write(p[:n])
	return n, err
}

// A key that a DataNode does not know is asked for anew, and one that is too old
// before it is used.
func TestAnOldEncryptionKeyIsReplaced(t *testing.T) {
	g, err := newGuard(conf.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	g.ask = func(context.Context) (*hdfspb.DataEncryptionKey, error) {
		asked++
		life := time.Hour
		if asked == 1 {
			life = -time.Second
		}
		return &hdfspb.DataEncryptionKey{KeyId: proto.Uint32(uint32(asked)), ExpiryDate: proto.Uint64(uint64(time.Now().Add(life).UnixMilli()))}, nil
	}
	for i, want := range []uint32{1, 2, 2, 3} {
		key, err := g.encryption(t.Context())
		if err != nil || key.GetKeyId() != want {
			t.Errorf("%d: key %d, %v", i, key.GetKeyId(), err)
		}
		if i == 2 {
			g.forget(key)
		}
	}
}

func TestAProtectionThatIsNoneIsRefused(t *testing.T) {
	_, err := New(conf.New(map[string]string{"fs.defaultFS": "hdfs://nn", protectionKey: "secret"}), nil)
	if err == nil || err.Error() != `dfs.data.transfer.protection: "secret" is none of authentication, integrity, privacy (set)` {
		t.Errorf("got %v", err)
	}
}

// Whatever a DataNode says, it is an error or agreed; never a panic, and nothing
// that is longer than what may come.
func FuzzHandshake(f *testing.F) {
	for _, m := range []*hdfspb.EncryptorMessage{
		message(offering("auth", "rc4").Challenge()), message([]byte("rspauth=x")), message(nil),
		{Status: hdfspb.EncryptorMessage_ERROR.Enum(), Message: text("no")},
		{Status: hdfspb.EncryptorMessage_SUCCESS.Enum(), CipherOption: []*hdfspb.CipherOption{{Suite: hdfspb.CipherSuite_AES_CTR_NOPADDING.Enum()}}},
	} {
		b, err := appendMessage(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(append(b, b...), false)
	}
	f.Fuzz(func(t *testing.T, said []byte, suites bool) {
		conn := &scripted{in: bytes.NewReader(said)}
		if out, err := shake(conn, wants, suites); err == nil {
			t.Errorf("agreed with one who has no password: %T", out)
		}
	})
}

// FuzzSealed reads wrapped pieces of anybody.
func FuzzSealed(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3})
	f.Add([]byte{0, 0, 0, 22, 0, 1})
	f.Fuzz(func(t *testing.T, said []byte) {
		conn, their := pair(t)
		ours, _, err := meet(t, offering("auth-conf", "3des"), wants, false, conn, their)
		if err != nil {
			t.Fatal(err)
		}
		ours.(*sealed).in = bufio.NewReader(bytes.NewReader(said))
		if got, _ := io.ReadAll(ours); len(got) > 0 { // whatever the error
			t.Errorf("read %q", got)
		}
	})
}

// scripted is a connection whose other end says what it will.
type scripted struct {
	net.Conn
	in io.Reader
}

func (c *scripted) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *scripted) Write(p []byte) (int, error) { return len(p), nil }

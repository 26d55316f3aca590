package kerberos

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

// keytabOf writes a keytab: owner, version, etype.
func keytabOf(entries ...keyEntry) []byte {
	b := []byte{5, 2}
	for _, e := range entries {
		var x []byte
		text := func(s string) { x = append(binary.BigEndian.AppendUint16(x, uint16(len(s))), s...) }
		x = binary.BigEndian.AppendUint16(x, uint16(len(e.owner.parts)))
		text(e.owner.realm)
		for _, p := range e.owner.parts {
			text(p)
		}
		x = binary.BigEndian.AppendUint32(x, 1)
		x = binary.BigEndian.AppendUint32(x, uint32(e.made.Unix()))
		x = append(x, byte(e.version))
		x = binary.BigEndian.AppendUint16(x, uint16(e.key.KeyType))
		text(string(e.key.KeyValue))
		x = binary.BigEndian.AppendUint32(x, e.version)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(x))), x...)
	}
	return b
}

func entry(owner string, version uint32, kind int32) keyEntry {
	n, _ := parseName(owner, home)
	return keyEntry{owner: n, version: version, made: time.Unix(1e9, 0), key: types.EncryptionKey{KeyType: kind, KeyValue: make([]byte, keySizes[kind])}}
}

func TestKeytab(t *testing.T) {
	b := keytabOf(entry("alice", 300, 18), entry("alice", 2, 18), entry("alice", 300, 17), entry("nn/host", 1, 18))
	hole := append(binary.BigEndian.AppendUint32(nil, ^uint32(7)+1), make([]byte, 7)...)
	b = append(append(b[:2:2], hole...), b[2:]...)
	b = append(b, 0, 0, 0, 0, 9, 9) // room at the end
	dir := t.TempDir()
	path := filepath.Join(dir, "a.keytab")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := loadKeytab("FILE:" + path)
	if err != nil {
		t.Fatal(err)
	}
	alice, err := k.owner("alice", home)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := k.key(alice, 18, 0); !ok || e.version != 300 {
		t.Errorf("the newest: %v, %v", e.version, ok)
	}
	if e, ok := k.key(alice, 18, 2); !ok || e.version != 2 {
		t.Errorf("version 2: %v, %v", e.version, ok)
	}
	if _, ok := k.key(alice, 19, 0); ok {
		t.Error("a key of a kind that is not there")
	}
	_, err = k.owner("bob", home)
	if !errors.Is(err, ErrKeytab) || !strings.Contains(err.Error(), "no key of bob@LAB.TEST: it holds alice@LAB.TEST, nn/host@LAB.TEST\nhint: ") {
		t.Errorf("somebody else: %v", err)
	}
	if _, err := k.owner("", home); !errors.Is(err, ErrKeytab) || !strings.Contains(err.Error(), "more than one principal") {
		t.Errorf("nobody named: %v", err)
	}
	for i := range b[:len(b)-6] {
		if got, err := parseKeytab(b[:i]); err == nil && len(got) == 4 {
			t.Errorf("cut to %d bytes it still has all keys", i)
		}
	}
	if _, err := loadKeytab(dir + "/none"); !errors.Is(err, ErrKeytab) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(path, []byte("not a keytab"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadKeytab(path); !errors.Is(err, ErrKeytab) || strings.Contains(err.Error(), "not a keytab\"") {
		t.Errorf("noise: %v", err)
	}
}

func TestCachePath(t *testing.T) {
	dir := write(t, "some/primary", "tktX\n", "some/tktX", "", "bad/primary", "../x", "none/other", "")
	for spec, want := range map[string]string{
		"/tmp/a": "/tmp/a", "FILE:/tmp/a": "/tmp/a", "file:/tmp/a": "/tmp/a", "a": "a",
		"DIR:" + dir + "/some": dir + "/some/tktX", "DIR:" + dir + "/none": dir + "/none/tkt", "DIR::" + dir + "/some/tktY": dir + "/some/tktY",
	} {
		if got, err := cachePath(spec); got != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", spec, got, err, want)
		}
	}
	for _, spec := range []string{"KCM:", "KCM:1000", "KEYRING:persistent:1000", "MEMORY:x", "API:y", "DIR:" + dir + "/bad"} {
		_, err := cachePath(spec)
		if !errors.Is(err, ErrCache) {
			t.Errorf("%s: %v", spec, err)
		}
		if !strings.HasPrefix(spec, "DIR") && !strings.Contains(err.Error(), "\nhint: make one that is a file: KRB5CCNAME=FILE:") {
			t.Errorf("%s: %v has no hint", spec, err)
		}
	}
	if got := cacheSpec(Source{}, &config{}); !strings.HasPrefix(got, "FILE:/tmp/krb5cc_") {
		t.Errorf("the default is %s", got)
	}
}

func FuzzKeytab(f *testing.F) {
	f.Add(keytabOf(entry("alice", 1, 18), entry("nn/host", 2, 17)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if entries, err := parseKeytab(b); err == nil {
			k := &keytab{entries: entries}
			for _, e := range entries {
				k.kinds(e.owner, etypes)
			}
			_ = k.owners()
		}
	})
}

func FuzzCache(f *testing.F) {
	f.Add([]byte("\x05\x04\x00\x0c\x00\x01\x00\x08\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01R\x00\x00\x00\x01a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseCache(b); err == nil {
			_ = c.owner.String()
		}
	})
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{"alice": "alice@LAB.TEST", "alice@X": "alice@X", "nn/h@X": "nn/h@X", `a\/b@X`: `a\/b@X`, `a\@b`: `a\@b@LAB.TEST`} {
		got, err := parseName(in, home)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "@X", "a/@X", "/b", "a@b@c"} {
		if got, err := parseName(in, home); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
	if _, err := parseName("alice", ""); err == nil {
		t.Error("a name without realm is taken")
	}
}

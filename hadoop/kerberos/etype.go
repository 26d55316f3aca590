package kerberos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The encryption types that there are here, the preferred first, which is MIT's
// order. Older ones have other tokens (RFC 4757) and are broken.
var etypes = []int32{18, 17, 20, 19}

// etypeNames are those of krb5.conf, aliases too.
var etypeNames = map[string]int32{
	"aes256-cts-hmac-sha1-96": 18, "aes256-cts": 18, "aes256-sha1": 18,
	"aes128-cts-hmac-sha1-96": 17, "aes128-cts": 17, "aes128-sha1": 17,
	"aes256-cts-hmac-sha384-192": 20, "aes256-sha2": 20,
	"aes128-cts-hmac-sha256-128": 19, "aes128-sha2": 19,
}

var keySizes = map[int32]int{17: 16, 18: 32, 19: 16, 20: 32}

// etypeName is for people.
func etypeName(id int32) string {
	for _, n := range []string{"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192", "aes128-cts-hmac-sha256-128"} {
		if etypeNames[n] == id {
			return n
		}
	}
	switch id {
	case 1, 2, 3:
		return "des"
	case 16:
		return "des3-cbc-sha1"
	case 23:
		return "rc4-hmac"
	case 25:
		return "camellia128-cts-cmac"
	case 26:
		return "camellia256-cts-cmac"
	}
	return fmt.Sprintf("encryption type %d", id)
}

func etypeList(ids []int32) string {
	var out []string
	for _, id := range ids {
		out = append(out, etypeName(id))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// cipher finds the functions of a key, and refuses one of a wrong size, which
// they do not all look at.
func cipher(key types.EncryptionKey) (etype.EType, error) {
	size, ok := keySizes[key.KeyType]
	if !ok {
		return nil, fmt.Errorf("%w: a key of %s", ErrEtype, etypeName(key.KeyType))
	}
	if len(key.KeyValue) != size {
		return nil, fmt.Errorf("a key of %s with %d bytes", etypeName(key.KeyType), len(key.KeyValue))
	}
	return crypto.GetEtype(key.KeyType)
}

func newKey(id int32) types.EncryptionKey {
	k := types.EncryptionKey{KeyType: id, KeyValue: make([]byte, keySizes[id])}
	_, _ = rand.Read(k.KeyValue) // never fails
	return k
}

func encrypt(key types.EncryptionKey, usage uint32, plain []byte) ([]byte, error) {
	et, err := cipher(key)
	if err != nil {
		return nil, err
	}
	_, out, err := et.EncryptMessage(key.KeyValue, plain, usage)
	return out, err
}

var errShort = errors.New("too short to be encrypted")

func decrypt(key types.EncryptionKey, usage uint32, sealed []byte) ([]byte, error) {
	et, err := cipher(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < et.GetConfounderByteSize()+et.GetHMACBitLength()/8 {
		return nil, errShort
	}
	return et.DecryptMessage(key.KeyValue, sealed, usage)
}

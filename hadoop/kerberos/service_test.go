package kerberos

import (
	"errors"
	"strings"
	"testing"
)

// What a server says that it is must be what is configured, before the KDC is
// asked: here there is none, so asking it would be another error.
func TestServiceIsCompared(t *testing.T) {
	for _, c := range []struct {
		pattern, address, protocol, server string
		want                               string // nothing: refused
		says                               string
	}{
		{"nn/_HOST@LAB.TEST", "nn1.lab.test:8020", "nn", "nn1.lab.test", "nn/nn1.lab.test@LAB.TEST", ""},
		{"nn/_HOST@LAB.TEST", "NN1.Lab.Test:8020", "nn", "nn1.lab.test", "nn/nn1.lab.test@LAB.TEST", ""},
		{"nn/_HOST", "nn1.lab.test:8020", "nn", "nn1.lab.test", "nn/nn1.lab.test@LAB.TEST", ""},
		{"nn/fixed@X.TEST", "nn1:8020", "nn", "fixed", "nn/fixed@X.TEST", ""},
		{"nn/*@LAB.TEST", "nn1:8020", "nn", "anything", "nn/anything@LAB.TEST", ""},
		{"*", "nn1:8020", "nn", "x.y", "nn/x.y@LAB.TEST", ""},
		{"nn/_HOST@LAB.TEST", "nn1.lab.test:8020", "nn", "evil.lab.test", "", "the server says that it is nn/evil.lab.test, configured is nn/_HOST@LAB.TEST, which is nn/nn1.lab.test here"},
		{"nn/_HOST@LAB.TEST", "nn1.lab.test:8020", "rm", "nn1.lab.test", "", "the server says that it is rm/nn1.lab.test"},
		{"nn/fixed@LAB.TEST", "nn1:8020", "nn", "nn1", "", "configured is nn/fixed@LAB.TEST"},
		{"nn/*@OTHER.TEST", "nn1:8020", "nn", "x", "", "the pattern is nn/*@OTHER.TEST"},
		{"nn@LAB.TEST", "nn1:8020", "nn", "nn1", "", "has no host"},
		{"nn/_HOST@LAB.TEST", "192.0.2.7:8020", "nn", "nn1", "", "192.0.2.7 is an address, which _HOST cannot be filled from"},
		{"nn/_HOST@LAB.TEST", "[2001:db8::1]:8020", "nn", "nn1", "", "2001:db8::1 is an address"},
		{"nn/_HOST@LAB.TEST", "nn1:8020", "", "", "", "names no principal"},
	} {
		l := stranger(t)
		s := l.Service(c.pattern).(*service)
		got, err := s.expect(t.Context(), c.address, c.protocol, c.server)
		if c.want == "" {
			if !errors.Is(err, ErrService) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), c.address+": ") {
				t.Errorf("%s at %s: %v, %v, want %q", c.pattern, c.address, got, err, c.says)
			}
			if _, err := s.Start(t.Context(), c.address, c.protocol, c.server); !errors.Is(err, ErrService) {
				t.Errorf("%s: the KDC was asked: %v", c.pattern, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s at %s: %v, %v, want %s", c.pattern, c.address, got, err, c.want)
		}
		if _, err := s.Start(t.Context(), c.address, c.protocol, c.server); !errors.Is(err, ErrKDC) {
			t.Errorf("%s: %v, want that no KDC is there", c.pattern, err)
		}
	}
}

// Where krb5.conf lets names be looked up, an address has the name that DNS
// gives it.
func TestServiceByReverseName(t *testing.T) {
	l := stranger(t)
	l.conf.canonicalize, l.conf.reverse = true, true
	names := l.conf.aliases(t.Context(), "127.0.0.1", true)
	if len(names) == 0 {
		t.Fatal("127.0.0.1 has no name here: the test cannot be made")
	}
	s := l.Service("nn/_HOST@LAB.TEST").(*service)
	got, err := s.expect(t.Context(), "127.0.0.1:8020", "nn", names[0])
	if err != nil || got.String() != "nn/"+names[0]+"@LAB.TEST" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.expect(t.Context(), "127.0.0.1:8020", "nn", "evil"); !errors.Is(err, ErrService) {
		t.Errorf("another name: %v", err)
	}
}

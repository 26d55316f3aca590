// Package rendezvous is the key-value store at which the processes of a job
// find each other: listeners come in, and PUT, GET and DELETE of /scope/key
// over HTTP are answered on them until the end. It speaks what the gloo client
// of Horovod does, and is so small because every executor links it.
//
// The protocol of its clients has no credentials, so whoever reaches the port
// may read and write. What that can cost is bounded: see Limits.
package rendezvous

import (
	"errors"
	"maps"
	"sync"
)

// Limits bounds what clients can make a Server keep and wait for; a zero field
// takes its default.
type Limits struct {
	Value int   // bytes of one value; 4 MiB
	Total int64 // bytes of all keys and values, also of those being received; 256 MiB
	Conns int   // answered at once, for each listener; the others wait in the kernel; 128
}

func (l Limits) filled() Limits {
	if l.Value == 0 {
		l.Value = 4 << 20
	}
	if l.Total == 0 {
		l.Total = 256 << 20
	}
	if l.Conns == 0 {
		l.Conns = 128
	}
	return l
}

// errFull says that the store has no room for one more value.
var errFull = errors.New("the store is full")

// overhead is about what a key costs beside its own bytes.
const overhead = 256

// store is the map and what it weighs.
type store struct {
	mu     sync.Mutex
	most   int64
	used   int64 // of values, and of what was reserved for some on their way
	values map[string][]byte
}

// weight is what a value counts for.
func weight(key string, size int) int64 { return int64(len(key)+size) + overhead }

// reserve sets room aside before a value is received, so that many at once
// stay within the limit too.
func (s *store) reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.most {
		return errFull
	}
	s.used += n
	return nil
}

func (s *store) unreserve(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// put keeps a value for which room was reserved; readers of the old one keep
// what they have.
func (s *store) put(key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	s.values[key] = value
}

func (s *store) get(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return v, ok
}

func (s *store) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
}

func (s *store) drop(key string) {
	if old, ok := s.values[key]; ok {
		s.used -= weight(key, len(old))
		delete(s.values, key)
	}
}

// content is a copy of what is kept, for tests.
func (s *store) content() (map[string][]byte, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values), s.used
}

package conf

import (
	"fmt"
	"maps"
	"os/user"
	"slices"
	"sync"
)

// Conf is a set of properties. It does not change once it is read, and may be
// used from several goroutines.
type Conf struct {
	values map[string]property
	vars   variables
	dir    string // where the files lie; empty when they came otherwise

	mu  sync.Mutex
	bad map[string]error // malformed values that somebody asked for, by key
}

// property is one value as it is written, and where.
type property struct {
	value  string
	origin string
	final  bool
}

// variables are what `${…}` means beside other properties.
type variables struct {
	env    func(name string) (string, bool)
	system map[string]string // Java's system properties, as far as files use them
}

// Option changes how variables in values are filled in.
type Option func(*variables)

// Env gives the environment for `${env.NAME}`, in the form of os.LookupEnv.
// Without it no variable of the environment is known.
func Env(lookup func(name string) (string, bool)) Option {
	return func(v *variables) { v.env = lookup }
}

// User gives another `${user.name}` than that of the process.
func User(name string) Option {
	return func(v *variables) { v.system["user.name"] = name }
}

// New makes a configuration of the given values, whose origin is "set".
func New(values map[string]string, with ...Option) *Conf {
	c := empty(with)
	for k, v := range values {
		c.values[current(k)] = property{value: v, origin: "set"}
	}
	return c
}

func empty(with []Option) *Conf {
	c := &Conf{
		values: map[string]property{},
		vars: variables{
			env:    func(string) (string, bool) { return "", false },
			system: map[string]string{"java.io.tmpdir": "/tmp"},
		},
		bad: map[string]error{},
	}
	if u, err := user.Current(); err == nil {
		c.vars.system["user.name"], c.vars.system["user.home"] = u.Username, u.HomeDir
	}
	for _, o := range with {
		o(&c.vars)
	}
	return c
}

// With returns a copy in which the given values replace those of the files,
// also final ones: what a user sets for one run.
func (c *Conf) With(values map[string]string) *Conf {
	out := &Conf{values: maps.Clone(c.values), vars: c.vars, dir: c.dir, bad: map[string]error{}}
	for k, v := range values {
		out.values[current(k)] = property{value: v, origin: "set"}
	}
	return out
}

// Get returns a value with its variables filled in, white space kept, and
// whether the key has one. Keys that Hadoop has renamed are found by either name.
func (c *Conf) Get(key string) (string, bool) {
	p, ok := c.raw(key)
	if !ok {
		return "", false
	}
	v, err := c.substitute(p.value)
	if err != nil {
		c.note(key, err)
	}
	return v, true
}

// Origin tells where a value comes from: "yarn-site.xml:12", "set", "default",
// or nothing when the key has none.
func (c *Conf) Origin(key string) string {
	p, _ := c.raw(key)
	return p.origin
}

// Keys lists what was read or set, sorted, without built-in defaults.
func (c *Conf) Keys() []string {
	return slices.Sorted(maps.Keys(c.values))
}

// Dir is the directory that Load read, or nothing.
func (c *Conf) Dir() string { return c.dir }

// Problems lists the values that were asked for as a number, a duration or
// another type and could not be read as one, sorted by key. The default was
// returned in their place.
func (c *Conf) Problems() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []error
	for _, k := range slices.Sorted(maps.Keys(c.bad)) {
		out = append(out, c.bad[k])
	}
	return out
}

// note keeps what is wrong with a value for Problems.
func (c *Conf) note(key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad[key] = fmt.Errorf("%s: %w (%s)", key, err, c.Origin(key))
}

func (c *Conf) raw(key string) (property, bool) {
	key = current(key)
	if p, ok := c.values[key]; ok {
		return p, true
	}
	v, ok := defaults[key]
	if !ok {
		return property{}, false
	}
	return property{value: v, origin: "default"}, true
}

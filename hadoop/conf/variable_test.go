package conf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVariables(t *testing.T) {
	env := Env(func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/bob", "EMPTY": ""}[name]
		return v, ok
	})
	tests := []struct{ value, want string }{
		{"plain", "plain"},
		{"${b}", "B"},
		{"<${b}|${b}>", "<B|B>"},
		{"${c}", "<B>"},
		{"${env.HOME}/x", "/home/bob/x"},
		{"${env.NONE}", "${env.NONE}"},
		{"${env.NONE-x}", "x"},
		{"${env.NONE:-x}", "x"},
		{"${env.EMPTY}", ""},
		{"${env.EMPTY-x}", ""},
		{"${env.EMPTY:-x}", "x"},
		{"${env.HOME:-x}", "/home/bob"},
		{"${user.name}", "bob"},
		{"${hadoop.tmp.dir}", "/tmp/hadoop-bob"},
		{"${none}", "${none}"},
		{"${none} ${b}", "${none} ${b}"}, // as Hadoop: nothing behind it is looked at
		{"${${d}}", "B"},
		{"${}", "${}"},
		{"${with blank}", "${with blank}"},
		{"${b", "${b"},
		{"$b}", "$b}"},
		{"${fs.default.name}", "hdfs://x"},
		{"${self}", "${self}"},
		{"${ping}", "${ping}"},
		{strings.Repeat("${b}", 20), strings.Repeat("B", 20)},
		{strings.Repeat("${b}", 21), strings.Repeat("${b}", 21)},
	}
	for _, tt := range tests {
		c := New(map[string]string{
			"a": tt.value, "b": "B", "c": "<${b}>", "d": "b", "fs.defaultFS": "hdfs://x",
			"self": "x${self}", "ping": "${pong}", "pong": "${ping}",
		}, env, User("bob"))
		got, ok := c.Get("a")
		// Of two that refer to each other any may be left.
		if got == "${pong}" {
			got = "${ping}"
		}
		if got != strings.ReplaceAll(tt.want, "${self}", got) && got != tt.want || !ok {
			t.Errorf("%q becomes %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestVariablesAreBounded(t *testing.T) {
	values := map[string]string{"v0": strings.Repeat("x", 1000)}
	for i := 1; i < 30; i++ {
		values[fmt.Sprint("v", i)] = fmt.Sprintf("${v%d}${v%d}", i-1, i-1)
	}
	values["wide"] = strings.Repeat("y", maxValue)
	values["wider"] = "${wide}${wide}"
	c := New(values)
	for _, key := range []string{"v29", "wider"} {
		if got := c.String(key, ""); got != values[key] {
			t.Errorf("%s becomes %d bytes", key, len(got))
		}
	}
	if p := c.Problems(); len(p) != 2 || !errors.Is(p[0], errDeep) || !errors.Is(p[1], errLong) {
		t.Errorf("problems: %v", p)
	}
}

// Whatever values refer to, filling in ends, and what has no variable is itself.
func TestVariablesAlwaysEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"${a}", "${b}", "${c}", "${", "}", "$", "x", "${user.name}", "${env.E:-${a}}"})
		value := rapid.Map(rapid.SliceOfN(part, 0, 8), func(p []string) string { return strings.Join(p, "") })
		values := map[string]string{"a": value.Draw(t, "a"), "b": value.Draw(t, "b"), "c": value.Draw(t, "c")}
		c := New(values, User("bob"))
		for k, v := range values {
			got, ok := c.Get(k)
			if !ok || len(got) > maxValue || !strings.Contains(v, "${") && got != v {
				t.Fatalf("%q becomes %q", v, got)
			}
		}
	})
}

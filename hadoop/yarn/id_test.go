package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestContainerID(t *testing.T) {
	app := AppID{Cluster: 1700000000000, Number: 12}
	tests := map[string]ContainerID{
		"container_1700000000000_0012_01_000002":     {Attempt: AttemptID{App: app, Number: 1}, Number: 2},
		"container_e03_1700000000000_0012_01_000002": {Attempt: AttemptID{App: app, Number: 1}, Number: 3<<40 | 2},
		"container_e117_1700000000000_0012_110_1234567": {
			Attempt: AttemptID{App: app, Number: 110}, Number: 117<<40 | 1234567,
		},
	}
	for text, want := range tests {
		got, err := ParseContainer(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		if s := want.String(); s != text {
			t.Errorf("%s is written %s", text, s)
		}
	}
}

func TestIDsThatAreNone(t *testing.T) {
	for _, s := range []string{
		"", "application", "application_1", "application_1_", "application__1", "application_1_1_1", "app_1_1", "application_1_-1",
		"application_+1_1", "application_1_2147483648", "application_9223372036854775808_1", "application_1_1\n", " application_1_1",
		"application_1_١",
	} {
		if id, err := ParseApp(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
	}
	for _, s := range []string{
		"", "container_1_1_1", "container_e_1_1_1_1", "container_e3", "container_e8388608_1_1_1_1", "container_1_1_1_1099511627776",
		"container_e1_e1_1_1_1_1", "container_1_1_1_1_1", "container_x1_1_1_1_1", "containerx_1_1_1_1",
	} {
		if id, err := ParseContainer(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
	}
	for _, s := range []string{"appattempt_1_1", "application_1_1_1", "appattempt_1_1_2147483648"} {
		if id, err := ParseAttempt(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
	}
}

// Every id survives being written, sent and read.
func TestIDsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ContainerID{
			Attempt: AttemptID{
				App:    AppID{Cluster: rapid.Int64Min(0).Draw(t, "cluster"), Number: rapid.Int32Min(0).Draw(t, "app")},
				Number: rapid.Int32Min(0).Draw(t, "attempt"),
			},
			Number: rapid.Int64Min(0).Draw(t, "number"),
		}
		if got, err := ParseContainer(c.String()); err != nil || got != c {
			t.Errorf("%s: %+v, %v", c, got, err)
		}
		if got, err := ParseAttempt(c.Attempt.String()); err != nil || got != c.Attempt {
			t.Errorf("%s: %+v, %v", c.Attempt, got, err)
		}
		if got, err := ParseApp(c.Attempt.App.String()); err != nil || got != c.Attempt.App {
			t.Errorf("%s: %+v, %v", c.Attempt.App, got, err)
		}
		if diff := cmp.Diff(c, ContainerOf(c.Proto())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestIDsOfNothing(t *testing.T) {
	if !ContainerOf(nil).IsZero() || !AttemptOf(nil).IsZero() || !AppOf(nil).IsZero() {
		t.Error("an id out of nothing")
	}
}

func FuzzIDs(f *testing.F) {
	for _, s := range []string{
		"application_1700000000000_0001", "appattempt_1700000000000_0001_000001", "container_1700000000000_0001_01_000001",
		"container_e17_1700000000000_0001_01_000001", "container_e_", "reservation_1_1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseApp(s); err == nil {
			if again, err := ParseApp(id.String()); err != nil || again != id {
				t.Errorf("%q: %v, then %v, %v", s, id, again, err)
			}
		}
		if id, err := ParseAttempt(s); err == nil {
			if again, err := ParseAttempt(id.String()); err != nil || again != id {
				t.Errorf("%q: %v, then %v, %v", s, id, again, err)
			}
		}
		if id, err := ParseContainer(s); err == nil {
			if again, err := ParseContainer(id.String()); err != nil || again != id {
				t.Errorf("%q: %v, then %v, %v", s, id, again, err)
			}
		}
	})
}

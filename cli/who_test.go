package cli

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-project/muster/backend/yarn"
)

// Who looks at a job proves it with what they have now; who tends it has nothing
// but what it was submitted with.
func TestWhoWeAreForAJob(t *testing.T) {
	type flags struct{ user, keytab, principal string }
	for name, c := range map[string]struct {
		note    note
		flags   flags
		tending bool
		want    yarn.Who
	}{
		"a look, with a ticket": {note: note{User: "alice", Cache: "FILE:/tmp/cc_then"}, want: yarn.Who{User: "alice"}},
		"tending, with the ticket cache": {note: note{User: "alice", Cache: "FILE:/tmp/cc_then"}, tending: true,
			want: yarn.Who{User: "alice", Cache: "FILE:/tmp/cc_then"}},
		"a look, with the keytab": {note: note{User: "alice", Keytab: "/k", Principal: "alice@X"},
			want: yarn.Who{User: "alice", Keytab: "/k", Principal: "alice@X"}},
		"tending, with the keytab": {note: note{User: "alice", Keytab: "/k", Principal: "gateway@X"}, tending: true,
			want: yarn.Who{User: "alice", Keytab: "/k", Principal: "gateway@X"}},
		"another keytab by flag": {note: note{User: "alice", Keytab: "/k", Principal: "alice@X"}, flags: flags{keytab: "/other", principal: "root"},
			want: yarn.Who{User: "alice", Keytab: "/other", Principal: "root"}},
	} {
		e := testEnv(t)
		e.user, e.keytab, e.principal = c.flags.user, c.flags.keytab, c.flags.principal
		if c.tending {
			e.tending = slog.New(slog.DiscardHandler)
		}
		c.want.Account = e.account()
		if diff := cmp.Diff(c.want, e.whoOf(c.note), cmpopts.IgnoreFields(yarn.Who{}, "Getenv")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

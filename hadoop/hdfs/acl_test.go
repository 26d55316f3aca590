//go:build hadoop

package hdfs

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACLsOpenADirectoryToOthers(t *testing.T) {
	root, bob := asUser(t, "root"), asUser(t, "bob")
	dir := scratch(t, root)
	must(t, root.SetPermission(t.Context(), dir, 0o700))
	all := Read | Write | Execute
	must(t, root.SetACL(t.Context(), dir, []ACLEntry{
		{Subject: User, Action: all}, {Subject: Group}, {Subject: Other},
		{Subject: User, Name: "bob", Action: Read | Execute},
		{Default: true, Subject: User, Name: "bob", Action: Read | Execute},
	}))
	got, err := root.ACL(t.Context(), dir)
	must(t, err)
	want := ACL{Owner: "root", Group: got.Group, Mode: 0o750, Entries: []ACLEntry{
		{Subject: User, Name: "bob", Action: Read | Execute}, {Subject: Group},
		{Default: true, Subject: User, Action: all}, {Default: true, Subject: User, Name: "bob", Action: Read | Execute},
		{Default: true, Subject: Group}, {Default: true, Subject: Mask, Action: Read | Execute}, {Default: true, Subject: Other},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// What is made in it is open to bob as well, as far as its mode goes.
	w, err := root.Create(t.Context(), dir+"/log", Options{Mode: 0o640})
	must(t, err)
	must(t, w.Close())
	must(t, second(bob.Open(t.Context(), dir+"/log", 0)))
	must(t, bob.Access(t.Context(), dir, Read|Execute))
	for name, err := range map[string]error{
		"to write there": bob.Access(t.Context(), dir, Write),
		"another user":   asUser(t, "carol").Access(t.Context(), dir, Execute),
		"to change it":   bob.ModifyACL(t.Context(), dir, []ACLEntry{{Subject: User, Name: "bob", Action: all}}),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, root.ModifyACL(t.Context(), dir, []ACLEntry{{Subject: User, Name: "bob", Action: all}}))
	must(t, bob.Access(t.Context(), dir, Write))
	must(t, root.RemoveACL(t.Context(), dir))
	if err := bob.Access(t.Context(), dir, Read); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without ACL: %v", err)
	}
	if err := root.SetACL(t.Context(), dir, []ACLEntry{{Subject: User, Name: "bob"}}); !errors.Is(err, AclProblem) {
		t.Errorf("a list without owner: %v", err)
	}
	if err := root.SetACL(t.Context(), dir+"/none", want.Entries); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestGroupsAreTheNameNodes(t *testing.T) {
	c := asUser(t, "root")
	groups, err := c.Groups(t.Context(), "root")
	must(t, err)
	if !slices.Contains(groups, "root") {
		t.Errorf("root is in %q", groups)
	}
	groups, err = c.Groups(t.Context(), "nobody-of-that-name")
	if err != nil || len(groups) > 0 {
		t.Errorf("one who is not known is in %q, %v", groups, err)
	}
}

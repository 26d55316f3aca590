package hdfs

import (
	"context"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// Action is what may be done, as bits of a mode.
type Action uint8

// The actions; in a directory, Execute is to reach what is in it.
const (
	Execute Action = 1
	Write   Action = 2
	Read    Action = 4
)

// Subject is whom an entry of an ACL is for.
type Subject int

// The subjects. Mask bounds what all entries but the owner's and Other's allow.
const (
	User Subject = iota
	Group
	Mask
	Other
)

// ACLEntry is one line of an access control list.
type ACLEntry struct {
	// Default entries of a directory are given to what is made in it.
	Default bool
	Subject Subject
	Name    string // of a user or group; empty stands for the owner, or the owning group
	Action  Action
}

// ACL is who may do what with a file or directory.
type ACL struct {
	Owner, Group string
	// Mode has the permission bits. Where there are entries beyond those, its
	// group bits are the mask.
	Mode    fs.FileMode
	Entries []ACLEntry // beyond the permission bits
}

// AclProblem says that an ACL is wrong, or that the NameNode keeps none.
const AclProblem rpc.Exception = "org.apache.hadoop.hdfs.protocol.AclException"

// SetACL replaces the ACL. A list without a default entry takes default entries
// away; owner, group and others must be among the entries, and a mask is made
// where there is none.
func (c *Client) SetACL(ctx context.Context, path string, entries []ACLEntry) error {
	return c.changeACL(ctx, "setAcl", path, entries)
}

// ModifyACL adds entries, and replaces those for the same subject; others stay.
func (c *Client) ModifyACL(ctx context.Context, path string, entries []ACLEntry) error {
	return c.changeACL(ctx, "modifyAclEntries", path, entries)
}

func (c *Client) changeACL(ctx context.Context, method, path string, entries []ACLEntry) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	req := &hdfspb.AclRequest{Src: &clean}
	for _, e := range entries {
		p := &hdfspb.AclEntry{Type: hdfspb.AclType(e.Subject).Enum(), Scope: hdfspb.AclScope_ACL_ACCESS.Enum(), Permissions: proto.Uint32(uint32(e.Action))}
		if e.Default {
			p.Scope = hdfspb.AclScope_ACL_DEFAULT.Enum()
		}
		if e.Name != "" {
			p.Name = &e.Name
		}
		req.AclSpec = append(req.AclSpec, p)
	}
	return problem(path, "cannot set ACL", c.call(ctx, method, req, &hdfspb.VoidResponse{}))
}

// RemoveACL leaves the permission bits alone.
func (c *Client) RemoveACL(ctx context.Context, path string) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	return problem(path, "cannot remove ACL", c.call(ctx, "removeAcl", &hdfspb.SrcRequest{Src: &clean}, &hdfspb.VoidResponse{}))
}

// ACL reads owner, permission bits and ACL.
func (c *Client) ACL(ctx context.Context, path string) (ACL, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return ACL{}, err
	}
	var r hdfspb.GetAclStatusResponse
	if err := c.call(ctx, "getAclStatus", &hdfspb.SrcRequest{Src: &clean}, &r); err != nil {
		return ACL{}, problem(path, "cannot read ACL", err)
	}
	s := r.GetResult()
	out := ACL{Owner: s.GetOwner(), Group: s.GetGroup(), Mode: fs.FileMode(s.GetPermission().GetPerm() & 0o777)}
	if s.GetSticky() {
		out.Mode |= fs.ModeSticky
	}
	for _, e := range s.GetEntries() {
		out.Entries = append(out.Entries, ACLEntry{Default: e.GetScope() == hdfspb.AclScope_ACL_DEFAULT,
			Subject: Subject(e.GetType()), Name: e.GetName(), Action: Action(e.GetPermissions())})
	}
	return out, nil
}

// Access tells by fs.ErrPermission that the caller may not do this.
func (c *Client) Access(ctx context.Context, path string, a Action) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	req := &hdfspb.CheckAccessRequest{Path: &clean, Mode: proto.Uint32(uint32(a))}
	return problem(path, "cannot be accessed", c.call(ctx, "checkAccess", req, &hdfspb.VoidResponse{}))
}

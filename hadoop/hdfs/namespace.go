package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// Stat describes a file or directory.
func (c *Client) Stat(ctx context.Context, path string) (FileInfo, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return FileInfo{}, err
	}
	var r hdfspb.FileStatusResponse
	if err := c.call(ctx, "getFileInfo", &hdfspb.SrcRequest{Src: &clean}, &r); err != nil {
		return FileInfo{}, problem(path, "cannot stat", err)
	}
	if r.Fs == nil {
		return FileInfo{}, problem(path, "cannot stat", fs.ErrNotExist)
	}
	return info(clean, r.Fs), nil
}

// List gives what is in a directory, by name. What comes and goes during the
// call may be missing.
func (c *Client) List(ctx context.Context, path string) ([]FileInfo, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []FileInfo
	after := []byte{}
	for {
		var r hdfspb.GetListingResponse
		err := c.call(ctx, "getListing", &hdfspb.GetListingRequest{Src: &clean, StartAfter: after, NeedLocation: proto.Bool(false)}, &r)
		if err != nil {
			return nil, problem(path, "cannot list", err)
		}
		if r.DirList == nil {
			return nil, problem(path, "cannot list", fs.ErrNotExist)
		}
		part := r.DirList.GetPartial()
		for _, s := range part {
			if len(s.GetPath()) == 0 { // a file lists itself
				return nil, problem(path, "cannot list", syscall.ENOTDIR)
			}
			out = append(out, info(string(s.GetPath()), s))
		}
		if r.DirList.GetRemaining() == 0 || len(part) == 0 {
			return out, nil
		}
		after = part[len(part)-1].GetPath()
	}
}

// Mkdir makes a directory and the missing ones above it, with exactly this mode
// whatever the umask is, except that those above can be entered and written by
// their owner. One that exists is fine and keeps its mode.
func (c *Client) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	var r hdfspb.BoolResponse
	err = c.call(ctx, "mkdirs", &hdfspb.MkdirsRequest{Src: &clean, Masked: permission(mode), CreateParent: proto.Bool(true)}, &r)
	if err == nil && !r.GetResult() {
		err = errors.New("the NameNode says no more")
	}
	return problem(path, "cannot make directory", err)
}

// Rename moves a file or directory to a name that is free; it never replaces.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	src, err := check(ctx, from)
	if err != nil {
		return err
	}
	dst, err := check(ctx, to)
	if err != nil {
		return err
	}
	err = c.call(ctx, "rename2", &hdfspb.Rename2Request{Src: &src, Dst: &dst, OverwriteDest: proto.Bool(false)}, &hdfspb.VoidResponse{})
	if errors.Is(err, FileAlreadyExists) {
		return problem(to, "cannot rename to it", err)
	}
	// A file onto a directory, and the other way round, is told as that only.
	if errors.Is(err, rpc.IOException) {
		if _, serr := c.Stat(ctx, to); serr == nil {
			return problem(to, "cannot rename to it", fs.ErrExist)
		}
	}
	return problem(from, "cannot rename to "+to, err)
}

// Delete removes a file, or a directory with all that is in it, and tells
// whether there was one.
func (c *Client) Delete(ctx context.Context, path string) (bool, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return false, err
	}
	var r hdfspb.BoolResponse
	err = c.call(ctx, "delete", &hdfspb.DeleteRequest{Src: &clean, Recursive: proto.Bool(true)}, &r)
	if errors.Is(err, FileNotFound) {
		return false, nil
	}
	return r.GetResult(), problem(path, "cannot remove", err)
}

// SetTimes sets when a file or directory was last modified, to the millisecond.
func (c *Client) SetTimes(ctx context.Context, path string, modified time.Time) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	err = c.call(ctx, "setTimes", &hdfspb.SetTimesRequest{Src: &clean,
		Mtime: proto.Uint64(uint64(modified.UnixMilli())), Atime: proto.Uint64(math.MaxUint64)}, &hdfspb.VoidResponse{})
	return problem(path, "cannot set times", err)
}

// SetPermission sets permission bits and the sticky bit.
func (c *Client) SetPermission(ctx context.Context, path string, mode fs.FileMode) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	err = c.call(ctx, "setPermission", &hdfspb.SetPermissionRequest{Src: &clean, Permission: permission(mode)}, &hdfspb.VoidResponse{})
	return problem(path, "cannot set mode", err)
}

// SetOwner sets user and group; an empty one stays. Only a superuser may give
// a file to another user.
func (c *Client) SetOwner(ctx context.Context, path, user, group string) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	req := &hdfspb.SetOwnerRequest{Src: &clean}
	if user != "" {
		req.Username = &user
	}
	if group != "" {
		req.Groupname = &group
	}
	return problem(path, "cannot set owner", c.call(ctx, "setOwner", req, &hdfspb.VoidResponse{}))
}

// Home is the directory of a user, whether it exists or not.
func (c *Client) Home(user string) string {
	return c.conf.String("dfs.user.home.dir.prefix", "/user") + "/" + user
}

// Defaults are what the NameNode wants clients to do where they have no wish.
func (c *Client) Defaults(ctx context.Context) (*hdfspb.ServerDefaults, error) {
	var r hdfspb.GetServerDefaultsResponse
	if err := c.call(ctx, "getServerDefaults", &hdfspb.VoidResponse{}, &r); err != nil {
		return nil, fmt.Errorf("namenode: its defaults cannot be read: %w", err)
	}
	return r.GetServerDefaults(), nil
}

package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

func TestWhereTheNameNodesAre(t *testing.T) {
	ha := map[string]string{"fs.defaultFS": "hdfs://prod/user", "dfs.nameservices": "prod,other", "dfs.ha.namenodes.prod": "nn1, nn2",
		"dfs.namenode.rpc-address.prod.nn1": "a:9000", "dfs.namenode.rpc-address.prod.nn2": "b"}
	for name, tc := range map[string]struct {
		conf map[string]string
		want place
		err  string
	}{
		"one":             {map[string]string{"fs.defaultFS": "hdfs://nn:9000"}, place{[]string{"nn:9000"}, "nn:9000"}, ""},
		"without a port":  {map[string]string{"fs.defaultFS": "hdfs://nn/"}, place{[]string{"nn:8020"}, "nn:8020"}, ""},
		"two by one name": {ha, place{[]string{"a:9000", "b:8020"}, "ha-hdfs:prod"}, ""},
		"one by a name": {map[string]string{"fs.defaultFS": "hdfs://other", "dfs.nameservices": "other", "dfs.namenode.rpc-address.other": "c:1"},
			place{[]string{"c:1"}, "c:1"}, ""},
		"one of two has no address": {map[string]string{"fs.defaultFS": "hdfs://prod", "dfs.ha.namenodes.prod": "nn1"}, place{},
			"dfs.namenode.rpc-address.prod.nn1: not set"},
		"none":       {nil, place{}, "fs.defaultFS: not set"},
		"not HDFS":   {map[string]string{"fs.defaultFS": "viewfs://all/"}, place{}, "fs.defaultFS: viewfs://all/ (set) is no HDFS"},
		"local":      {map[string]string{"fs.defaultFS": "file:///"}, place{}, "is no HDFS"},
		"not an URI": {map[string]string{"fs.defaultFS": "hdfs://a b"}, place{}, "is no HDFS"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := locate(conf.New(tc.conf))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %s", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(place{})); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestExceptionsAreWhatFilesKnow(t *testing.T) {
	for _, tc := range []struct {
		class   rpc.Exception
		message string
		is      error
		want    string
	}{
		{FileNotFound, "File does not exist: /a", fs.ErrNotExist, "/a: cannot do it: file does not exist"},
		{FileAlreadyExists, "/a already exists", fs.ErrExist, "/a: cannot do it: file already exists"},
		{AlreadyBeingCreated, "x owned by y", fs.ErrExist, "/a: cannot do it: file already exists and is open for writing: x owned by y"},
		{rpc.AccessControl, "Permission denied: user=bob", fs.ErrPermission, "/a: cannot do it: permission denied: user=bob"},
		{SafeMode, "wait", SafeMode, "/a: cannot do it: mkdirs: SafeModeException: wait\nthe NameNode serves no writes yet; it leaves safe mode by itself after a start: hdfs dfsadmin -safemode get"},
		{rpc.IOException, "what", rpc.IOException, "/a: cannot do it: mkdirs: IOException: what"},
	} {
		err := problem("/a", "cannot do it", &wrapped{&rpc.RemoteError{Class: string(tc.class), Message: tc.message}})
		if !errors.Is(err, tc.is) || !errors.Is(err, tc.class) || err.Error() != tc.want {
			t.Errorf("%s: got %q, want %q", tc.class, err, tc.want)
		}
	}
	if err := problem("/a", "cannot do it", nil); err != nil {
		t.Error(err)
	}
}

type wrapped struct{ err error }

func (w *wrapped) Error() string { return "mkdirs: " + w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

func TestPathsThatNobodyIsAsked(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		path string
		want string
	}{
		{t.Context(), "a", "a: not an absolute path"},
		{t.Context(), "", ": not an absolute path"},
		{t.Context(), "/a:b", "/a:b: HDFS takes no colon in a name: invalid argument"},
		{t.Context(), "/\xff", "\"/\\xff\": HDFS takes names in UTF-8 only: invalid argument"},
		{over, "/a", "/a: context canceled"},
	} {
		if _, err := check(tc.ctx, tc.path); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v, want %s", tc.path, err, tc.want)
		}
	}
	if got, err := check(t.Context(), "//a/./b/../c/"); got != "/a/c" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestModes(t *testing.T) {
	for mode, bits := range map[fs.FileMode]uint32{0o640: 0o640, 0o755: 0o755, fs.ModeSticky | 0o777: 0o1777} {
		p := permission(mode)
		if p.GetPerm() != bits {
			t.Errorf("%v: got %o, want %o", mode, p.GetPerm(), bits)
		}
		back := FileInfo{status: &hdfspb.FileStatus{Permission: p, FileType: hdfspb.FileType_DIRECTORY.Enum()}}.Mode()
		if back != mode|fs.ModeDir {
			t.Errorf("%v came back as %v", mode, back)
		}
	}
}

func TestWhoIsAtFaultWhenAPipelineDoesNotComeUp(t *testing.T) {
	nodes := located().Locs
	for link, want := range map[string]string{"": "one", "10.0.0.two:9866": "two", "three:9866": "three", "10.9.9.9:1": "one"} {
		if got := culprit(nodes, &refusal{link: link}).GetId().GetHostName(); got != want {
			t.Errorf("%s: got %s, want %s", link, got, want)
		}
	}
	if got := culprit(nodes, net.ErrClosed); got != nodes[0] {
		t.Errorf("got %v", got)
	}
}

func TestNodesThatFailedAreLeftOutForSomeTime(t *testing.T) {
	var b blacklist
	nodes := located().Locs
	b.add()
	b.add(nodes[0])
	b.add(nodes[0], nodes[2])
	if n := len(b.list()); n != 2 {
		t.Errorf("%d nodes, want 2", n)
	}
	b.nodes["one"] = failed{node: nodes[0], at: time.Now().Add(-avoidance - time.Second)}
	if l := b.list(); len(l) != 1 || l[0] != nodes[2] {
		t.Errorf("got %v", l)
	}
	if l := b.last(nodes); len(l) != 3 || l[0] != nodes[0] || l[1] != nodes[1] || l[2] != nodes[2] {
		t.Errorf("got %v", l)
	}
	b.add(nodes[0])
	if l := b.last(nodes); len(l) != 3 || l[0] != nodes[1] || l[1] != nodes[0] || l[2] != nodes[2] {
		t.Errorf("got %v", l)
	}
	b.forget()
	if n := len(b.list()); n != 0 {
		t.Errorf("%d nodes, want none", n)
	}
}

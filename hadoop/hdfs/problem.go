package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/muster-project/muster/hadoop/rpc"
)

// meaning is what exceptions are for those who know files and no Hadoop.
var meaning = map[rpc.Exception]error{
	FileNotFound:        fs.ErrNotExist,
	FileAlreadyExists:   fs.ErrExist,
	AlreadyBeingCreated: fs.ErrExist,
	rpc.AccessControl:   fs.ErrPermission,
}

// hints tell what to do about what a user can do something about.
var hints = map[rpc.Exception]string{
	SafeMode:        "the NameNode serves no writes yet; it leaves safe mode by itself after a start: hdfs dfsadmin -safemode get",
	NSQuotaExceeded: "too many files for the quota of a directory above: hdfs dfs -count -q DIR",
	DSQuotaExceeded: "too many bytes for the quota of a directory above: hdfs dfs -count -q DIR",
	TypeQuota:       "too many bytes for the quota of a directory above: hdfs dfs -count -q -t DIR",
	AclProblem:      "ACLs are kept where dfs.namenode.acls.enabled is true at the NameNode",
	UnknownCrypto:   "the directory is an encryption zone, in which this client cannot write; choose another one",
}

// failure is an error that is another one for errors.Is.
type failure struct {
	error       // what errors.As and Is find beside
	is    error // one of package io/fs
	text  string
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return []error{f.error, f.is} }

// problem puts the path first and says what exceptions mean.
func problem(path, what string, err error) error {
	if err == nil {
		return nil
	}
	re, ok := errors.AsType[*rpc.RemoteError](err)
	if !ok {
		return fmt.Errorf("%s: %s: %w", path, what, err)
	}
	class := rpc.Exception(re.Class)
	if is := meaning[class]; is != nil {
		err = &failure{error: err, is: is, text: explain(is, class, re)}
	}
	if hint := hints[class]; hint != "" {
		return fmt.Errorf("%s: %s: %w\n%s", path, what, err, hint)
	}
	return fmt.Errorf("%s: %s: %w", path, what, err)
}

// explain says it as the local file system does, and adds what only the server
// knows: who lacks which right where, and who has a file open.
func explain(is error, class rpc.Exception, re *rpc.RemoteError) string {
	switch {
	case class == rpc.AccessControl:
		return is.Error() + ": " + strings.TrimPrefix(re.Message, "Permission denied: ")
	case class == AlreadyBeingCreated:
		return is.Error() + " and is open for writing: " + re.Message
	}
	return is.Error()
}

// check refuses what no server should be asked, and gives the path as the
// NameNode wants it.
func check(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if !path.IsAbs(name) {
		return "", fmt.Errorf("%s: not an absolute path", name)
	}
	if !utf8.ValidString(name) {
		return "", fmt.Errorf("%q: HDFS takes names in UTF-8 only: %w", name, fs.ErrInvalid)
	}
	clean := path.Clean(name)
	for part := range strings.SplitSeq(clean, "/") {
		if strings.Contains(part, ":") {
			return "", fmt.Errorf("%s: HDFS takes no colon in a name: %w", name, fs.ErrInvalid)
		}
	}
	return clean, nil
}

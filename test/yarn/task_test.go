//go:build hadoop

package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// asTask makes this binary the program of a task: the nodes are this machine.
const asTask = "as-a-task"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asTask {
		if err := task(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// taskCommand is the command line of a task that runs a part of this binary.
func taskCommand(t *testing.T, part string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, asTask, part}, args...)
}

func task(part string, args []string) error {
	if part != "outlive" || len(args) != 3 {
		return fmt.Errorf("%s %q: no such task", part, args)
	}
	wait, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	c, err := conf.Load(args[0])
	if err != nil {
		return err
	}
	have, err := tellTokens()
	if err != nil {
		return err
	}
	if os.Getenv("MUSTER_INDEX") == "0" {
		return outlive(c, args[2]+".over")
	}
	return losing(c, have, wait, args[2])
}

// tellTokens prints what a task may do, and what of its executor it can read.
func tellTokens() (*token.Credentials, error) {
	file := os.Getenv("HADOOP_TOKEN_FILE_LOCATION")
	c, err := token.Load(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stdout, "file %v, %d secrets, here %v\n", info.Mode(), len(c.Secrets), strings.HasPrefix(file, here+"/"))
	for i := range c.Tokens {
		fmt.Fprintln(os.Stdout, "has", &c.Tokens[i])
	}
	return c, tellLeaks(filepath.Dir(file))
}

// tellLeaks prints every file of the container, and every process that led to
// this one, that shows what starts an executor.
func tellLeaks(container string) error {
	look := func(name string, text []byte) {
		for _, secret := range []string{"muster.start", "PRIVATE KEY", token.KindRM, token.KindAMRM} {
			if bytes.Contains(text, []byte(secret)) {
				fmt.Fprintf(os.Stdout, "leak %s: %s\n", secret, name)
			}
		}
	}
	err := filepath.WalkDir(container, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		look(name, text)
		return err
	})
	for pid := os.Getpid(); pid > 1; pid = parent(pid) {
		for _, part := range []string{"environ", "cmdline"} {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, part)) // others are closed to us, which is as good
			look(fmt.Sprintf("/proc/%d/%s", pid, part), text)
		}
	}
	return err
}

func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var state string
	var above int
	_, rest, _ := strings.Cut(string(text), ") ")
	if _, err := fmt.Sscan(rest, &state, &above); err != nil {
		return 0
	}
	return above
}

// useToken reads and writes on HDFS with a token alone, over connections of its own.
func useToken(ctx context.Context, c *conf.Conf, have *token.Credentials) error {
	at, err := c.NameNodes("")
	if err != nil {
		return err
	}
	t := hdfs.TokenFor(ctx, at, have)
	if t == nil {
		return errors.New("no token of the job's own file system")
	}
	client, err := hdfs.New(c, func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: t}, nil })
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s/by-token-%d", client.Home("alice"), os.Getpid())
	w, err := client.Create(ctx, name, hdfs.Options{Mode: 0o600})
	if err == nil {
		_, err = w.Write([]byte("written"))
		err = errors.Join(err, w.Close())
	}
	if err == nil {
		_, err = client.Delete(ctx, name)
	}
	return errors.Join(err, client.Close())
}

// losing kills its executor after a time, and does its work in the next container.
func losing(c *conf.Conf, have *token.Credentials, wait time.Duration, marker string) error {
	if err := useToken(context.Background(), c, have); err != nil {
		return err
	}
	if _, err := os.Stat(marker); err == nil {
		fmt.Fprintln(os.Stdout, "again")
		return os.WriteFile(marker+".again", nil, 0o600)
	}
	<-time.After(wait)
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return err
	}
	// This program's parent is the guardian, whose parent is the executor.
	return syscall.Kill(parent(os.Getppid()), syscall.SIGKILL)
}

// outlive works on until a file is there, and in any case for some time after the
// end of the token that it began with. It uses the one that it has at every step.
func outlive(c *conf.Conf, until string) error {
	file := os.Getenv("HADOOP_TOKEN_FILE_LOCATION")
	var end time.Time
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for step := 1; ; step++ {
		have, err := token.Load(file)
		if err != nil {
			return err
		}
		id, err := token.ParseHDFS(&have.Tokens[0])
		if err != nil {
			return err
		}
		if end.IsZero() {
			end = time.UnixMilli(id.Max)
			fmt.Fprintln(os.Stdout, "end", id.Max)
		}
		if err := useToken(context.Background(), c, have); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		fmt.Fprintln(os.Stdout, "step", step, "token", id.Issued)
		if _, err := os.Stat(until); err == nil && time.Now().After(end.Add(5*time.Second)) {
			fmt.Fprintln(os.Stdout, "over", time.Now().UnixMilli())
			return nil
		}
		<-tick.C
	}
}

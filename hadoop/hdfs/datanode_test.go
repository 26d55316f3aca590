//go:build hadoop && datanodes

package hdfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// These tests end DataNodes. They want a cluster of their own with three of them
// and replication 3 (HADOOP_CONF_DIR), the program that history's tests of the
// same kind describe, and for one of them the directories of the DataNodes' data
// with % for the number, to damage a replica.
const (
	datanodeCommand = "MUSTER_TEST_DATANODE"
	datanodeData    = "MUSTER_TEST_DATANODE_DATA"
)

func control(t *testing.T, verb string, n int) {
	t.Helper()
	command := os.Getenv(datanodeCommand)
	if command == "" {
		t.Fatalf("%s: not set: these tests end and start datanodes by it", datanodeCommand)
	}
	if out, err := exec.Command(command, verb, strconv.Itoa(n)).CombinedOutput(); err != nil {
		t.Fatalf("%s %s %d: %v\n%s", command, verb, n, err, out)
	}
}

func whole(t *testing.T) {
	t.Helper()
	all := func() {
		for n := 1; n <= 3; n++ {
			control(t, "start", n)
		}
	}
	all()
	t.Cleanup(all)
}

// An upload fails when a DataNode goes away in the middle, and succeeds when it
// is made again, without that one.
func TestADataNodeGoesAwayDuringAnUpload(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			whole(t)
			c := asUser(t, "root")
			dir := scratch(t, c)
			data := random(t, 16<<20)
			w, err := c.Create(t.Context(), dir+"/first", Options{Mode: 0o600, BlockSize: 64 << 20})
			must(t, err)
			_, err = w.Write(data[:4<<20])
			must(t, err)
			must(t, w.Flush(t.Context()))
			control(t, "kill", n)
			begun := time.Now()
			_, err = w.Write(data[4<<20:])
			if err == nil {
				err = w.Flush(t.Context())
			}
			t.Logf("after %v: %v", time.Since(begun), err)
			if err == nil || w.Err() == nil || w.Close() == nil {
				t.Fatalf("the pipeline lost a node and nobody says so: %v", err)
			}
			// What was flushed can be read.
			r, err := c.Open(t.Context(), dir+"/first", 0)
			must(t, err)
			must(t, r.Close())
			if got := content(t, c, dir+"/first", 0); !bytes.HasPrefix(data, got) || len(got) < 4<<20 {
				t.Errorf("%d bytes of what was flushed", len(got))
			}
			begun = time.Now()
			w, err = c.Create(t.Context(), dir+"/second", Options{Mode: 0o600, BlockSize: 4 << 20})
			must(t, err)
			_, err = w.Write(data)
			must(t, err)
			must(t, w.Close())
			t.Logf("again, in %v", time.Since(begun))
			if !bytes.Equal(content(t, c, dir+"/second", 0), data) {
				t.Error("not what was written")
			}
		})
	}
}

// A reader goes on at another replica.
func TestADataNodeGoesAwayDuringReading(t *testing.T) {
	whole(t)
	c := asUser(t, "root")
	path := scratch(t, c) + "/file"
	data := random(t, 12<<20)
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600, BlockSize: 4 << 20})
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	r, err := c.Open(t.Context(), path, 0)
	must(t, err)
	defer r.Close()
	got := make([]byte, 0, len(data))
	part := make([]byte, 1<<20)
	for n := 0; ; {
		k, err := r.Read(part)
		got = append(got, part[:k]...)
		if err != nil {
			break
		}
		if len(got) > (n+1)<<20 && n < 2 { // two of three, one after the other
			n++
			control(t, "kill", n)
		}
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes", len(got), len(data))
	}
}

// A damaged replica is noticed, and another one is read.
func TestADamagedReplicaIsNotRead(t *testing.T) {
	pattern := os.Getenv(datanodeData)
	if pattern == "" {
		t.Fatalf("%s: not set: this test damages a replica there", datanodeData)
	}
	whole(t)
	c := asUser(t, "root")
	path := scratch(t, c) + "/file"
	data := random(t, 1<<20)
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600})
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	r, err := c.Open(t.Context(), path, 0)
	must(t, err)
	name := "blk_" + strconv.FormatUint(r.blocks[0].lb.GetB().GetBlockId(), 10)
	must(t, r.Close())
	damaged := 0
	for n := 1; n <= 2; n++ {
		root := string(bytes.ReplaceAll([]byte(pattern), []byte("%"), []byte(strconv.Itoa(n))))
		must(t, filepath.WalkDir(root, func(p string, d os.DirEntry, _ error) error {
			if d == nil || d.Name() != name { // what goes meanwhile is none of ours
				return nil
			}
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("damage"), 512*1024)
			damaged++
			return err
		}))
	}
	if damaged != 2 {
		t.Fatalf("%d replicas were damaged, want 2", damaged)
	}
	for range 5 { // the NameNode gives the replicas in any order
		if !bytes.Equal(content(t, c, path, 0), data) {
			t.Fatal("damaged bytes were read")
		}
	}
}

package yarn

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/login"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/storage"
)

// Attempt is what a coordinator finds in its container: how it was submitted,
// the cluster's configuration, and what proves who it is.
type Attempt struct {
	AM     *AM
	FS     storage.FS
	Opener Opener // URL and Log are the caller's to fill
	Host   string // of this node, as its NodeManager names it
	conf   *conf.Conf
}

// OpenAttempt reads the container in a directory. getenv gives the variables
// that the node set.
func OpenAttempt(dir string, getenv func(string) string, log *slog.Logger) (*Attempt, error) {
	a := &Attempt{AM: &AM{}, Host: getenv("NM_HOST")}
	data, err := os.ReadFile(filepath.Join(dir, FileAM))
	if err == nil {
		err = json.Unmarshal(data, a.AM)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not a coordinator's container: %w", FileAM, err)
	}
	if a.AM.Version != AMVersion {
		return nil, fmt.Errorf("%s: version %d, this muster reads %d", FileAM, a.AM.Version, AMVersion)
	}
	if a.conf, err = readSite(filepath.Join(dir, FileSite), a.AM.User); err != nil {
		return nil, err
	}
	file := getenv("HADOOP_TOKEN_FILE_LOCATION")
	if file == "" {
		return nil, fmt.Errorf("HADOOP_TOKEN_FILE_LOCATION: not set: a node manager does that")
	}
	cred, err := token.Load(file)
	if err != nil {
		return nil, err
	}
	who, err := login.New(a.conf, a.loginOptions(dir, cred, getenv))
	if err != nil {
		return nil, err
	}
	if a.FS, err = openFiles(a.conf, who); err != nil {
		return nil, err
	}
	a.Opener = Opener{AM: a.AM, Conf: a.conf, Credentials: cred, FS: a.FS, Log: log,
		Node: net.JoinHostPort(a.Host, getenv("NM_PORT"))}
	a.Opener.Renewal = newRenewal(cred, log)
	if a.AM.Principal != "" && a.Opener.Renewal != nil {
		// What it was submitted with may have died since, so the coordinator itself
		// lives on its keytab from the beginning.
		a.Opener.Client = who.RM()
		f := &fetcher{conf: a.conf, login: who, filesystems: a.AM.Filesystems, log: log}
		a.Opener.Renewal.source, a.Opener.Renewal.cancel = f.fetch, f.cancel
	}
	return a, nil
}

func readSite(file, user string) (*conf.Conf, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return conf.Read(FileSite, in, func(href string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s: includes %s: it was written by muster and includes nothing", FileSite, href)
	}, conf.User(user))
}

// Storage is what an executor must know to reach the cluster's file system.
func (a *Attempt) Storage() map[string]string {
	out := map[string]string{}
	for _, key := range a.conf.Keys() {
		if stored(key) {
			out[key] = a.conf.String(key, "")
		}
	}
	return out
}

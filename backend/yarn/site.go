package yarn

import (
	"context"
	"errors"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/storage"
	files "github.com/muster-project/muster/storage/hdfs"
)

// At is a Config for the cluster whose site files lie in a directory. If they
// cannot be read the backend says so when it is asked something; doctor wants to
// say it in its own way.
func At(dir, user string) Config {
	c, err := conf.Load(dir, conf.User(user))
	if errors.Is(err, conf.ErrNone) {
		err = hint(err, "HADOOP_CONF_DIR names the directory of the cluster's core-site.xml, hdfs-site.xml and yarn-site.xml")
	}
	return Config{Conf: c, Trouble: err, User: user, Storage: Storage(user)}
}

// Storage opens a cluster's HDFS as a user that the cluster believes.
func Storage(user string) func(*conf.Conf) (storage.FS, error) {
	return func(c *conf.Conf) (storage.FS, error) {
		client, err := hdfs.New(c, func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: user}, nil })
		if err != nil {
			return nil, err
		}
		return files.New(client), nil
	}
}

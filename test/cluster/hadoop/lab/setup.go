package lab

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// users have a home on HDFS where anybody may call himself one of them.
var users = []string{"root", "alice", "bob"}

// makeFolders makes what a new HDFS needs. Over WebHDFS, since each Java command
// would take seconds.
func (c *Cluster) makeFolders(ctx context.Context) error {
	name, err := c.Active(ctx, nameNode)
	if err != nil {
		return err
	}
	put := func(path string, query url.Values) error {
		query.Set("user.name", "root") // which Kerberos proves, where it is asked for
		return c.web(ctx, http.MethodPut, port(name, nnHTTP), "/webhdfs/v1"+path+"?"+query.Encode(), nil, nil)
	}
	mkdir := func(path, mode string) error {
		return put(path, url.Values{"op": {"MKDIRS"}, "permission": {mode}})
	}
	for _, path := range []string{"/tmp", "/app-logs"} {
		if err := mkdir(path, "1777"); err != nil {
			return err
		}
	}
	for _, user := range c.Users() {
		home := "/user/" + user
		if err := mkdir(home, "755"); err != nil {
			return err
		}
		if err := put(home, url.Values{"op": {"SETOWNER"}, "owner": {user}, "group": {user}}); err != nil {
			return err
		}
	}
	return nil
}

// setLabels defines the mode's labels and gives them to the nodes.
func (c *Cluster) setLabels(ctx context.Context) error {
	type label struct {
		Name      string `json:"name"`
		Exclusive bool   `json:"exclusivity"`
	}
	type labelled struct {
		Node   string   `json:"nodeId"`
		Labels []string `json:"labels"`
	}
	var known struct {
		Labels []label `json:"nodeLabelInfo"`
	}
	var nodes struct {
		Nodes []labelled `json:"nodeToLabels"`
	}
	for _, name := range slices.Sorted(maps.Keys(c.mode().Labels)) {
		known.Labels = append(known.Labels, label{name, c.mode().Labels[name]})
	}
	for n, node := range c.mode().Nodes {
		if node.Label != "" {
			id, _ := c.Node("nm" + strconv.Itoa(n+1)) // one of ours
			nodes.Nodes = append(nodes.Nodes, labelled{id, []string{node.Label}})
		}
	}
	name, err := c.Active(ctx, manager)
	if err != nil {
		return err
	}
	post := func(path string, body any) error {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		return c.web(ctx, http.MethodPost, port(name, rmWeb), "/ws/v1/cluster/"+path+"?user.name=root", strings.NewReader(string(data)), nil)
	}
	if err := post("add-node-labels", known); err != nil {
		return err
	}
	return post("replace-node-to-labels", nodes)
}

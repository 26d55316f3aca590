package yarn

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/token"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Container is what a node is told to start.
type Container struct {
	Files   map[string]Resource // by their name in the container's directory
	Env     map[string]string
	Command string // of our own words only: see shell
	// Credentials are for the container's user alone.
	Credentials *token.Credentials
	ACLs        spec.ACLs // beside the owner and administrators
}

// command is a line for a node's launch script, which a node puts unescaped
// into «exec /bin/bash -c "…"». All words are constants of ours. It begins with
// exec, so that signals reach our process and not a shell.
func command(words string) string {
	return "exec " + words + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
}

// Coordinator is the container of a job's coordinator. Its environment has
// nothing of the job: what it must know is in files.
func coordinatorContainer(files map[string]Resource, cred *token.Credentials, acls spec.ACLs) Container {
	return Container{
		Files: files, Credentials: cred, ACLs: acls,
		Command: command("./" + FileMuster + " coordinator --yarn"),
		// An application whose log is to be read should say all of it when it crashes.
		Env: map[string]string{"GOTRACEBACK": "all"},
	}
}

// ExecutorContainer is the container of an executor of one role. The start
// context holds a private key, so it travels as a secret; hdfs are the tokens by
// which executor and task reach file systems, none on an insecure cluster.
func ExecutorContainer(am *AM, s *Settings, p *plan.Plan, role string, start []byte, hdfs []token.Token) Container {
	c := Container{
		Files: map[string]Resource{FileExecutor: am.Executor}, ACLs: p.ACLs,
		Command:     command("./" + FileExecutor + " container"),
		Credentials: &token.Credentials{Tokens: hdfs, Secrets: map[string][]byte{SecretStart: start}},
		Env:         map[string]string{"GOTRACEBACK": "all"},
	}
	for _, sha := range blobsOf(p) {
		if r, ok := am.Blobs[sha]; ok {
			c.Files[DirBlobs+"/"+sha] = r
		}
	}
	r := s.Role(role)
	if pr := p.Role(role); pr != nil && pr.Resources.GPUs > 1 {
		// Read by YARN's topology-aware device plugin: the GPUs of one task should be
		// near each other.
		c.Env["NVIDIA_TOPO_POLICY"] = "PACK"
	}
	maps.Copy(c.Env, r.Docker.env())
	return c
}

// blobsOf are the keys of all files that a plan names, sorted: content addresses
// of what was sent, and what stands for files that are on the cluster already.
func blobsOf(p *plan.Plan) []string {
	var out []string
	add := func(sha string) {
		if sha != "" && !slices.Contains(out, sha) {
			out = append(out, sha)
		}
	}
	add(p.Work.Archive)
	for _, f := range p.Work.Files {
		add(f.Key())
	}
	add(p.Python.File().Key())
	slices.Sort(out)
	return out
}

// env asks a node's Docker runtime for an image. Decode lets nothing into these
// words that a shell or YARN would read as more than text.
func (d Docker) env() map[string]string {
	if d.Image == "" {
		return nil
	}
	out := map[string]string{
		"YARN_CONTAINER_RUNTIME_TYPE":         "docker",
		"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": d.Image,
		// The node's launch script is what runs, whatever command the image has.
		"YARN_CONTAINER_RUNTIME_DOCKER_RUN_OVERRIDE_DISABLE": "false",
	}
	if d.ClientConfig != "" {
		out["YARN_CONTAINER_RUNTIME_DOCKER_CLIENT_CONFIG"] = d.ClientConfig
	}
	if d.DelayedRemoval {
		out["YARN_CONTAINER_RUNTIME_DOCKER_DELAYED_REMOVAL"] = "true"
	}
	if len(d.Mounts) > 0 {
		out["YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS"] = strings.Join(d.Mounts, ",")
	}
	if d.Network != "" {
		out["YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK"] = d.Network
	}
	return out
}

// shell escapes a value for «export K="V"» of a node's launch script. What YARN
// replaces before the shell sees it cannot be escaped, so it is refused.
func shell(value string) (string, error) {
	for _, word := range []string{"{{", "}}", "<LOG_DIR>", "<CPS>", "\x00"} {
		if strings.Contains(value, word) {
			return "", fmt.Errorf("%q: YARN replaces %q in it", value, word)
		}
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value), nil
}

// Proto is the container in the form that resource manager and nodes take.
// filesystem is where the files lie, such as hdfs://namenode:8020.
func (c Container) Proto(filesystem string) (*yarnpb.ContainerLaunchContext, error) {
	at, err := parseFilesystem(filesystem)
	if err != nil {
		return nil, err
	}
	out := &yarnpb.ContainerLaunchContext{Command: []string{c.Command}}
	for _, key := range slices.Sorted(maps.Keys(c.Files)) {
		out.LocalResources = append(out.LocalResources, &yarnpb.NamedLocalResource{Key: new(key), Value: c.Files[key].proto(at)})
	}
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		value, err := shell(c.Env[key])
		if err != nil {
			return nil, fmt.Errorf("environment %s: %w", key, err)
		}
		out.Environment = append(out.Environment, &yarnpb.StringString{Key: new(key), Value: &value})
	}
	if c.Credentials != nil && len(c.Credentials.Tokens)+len(c.Credentials.Secrets) > 0 {
		out.Tokens = c.Credentials.Bytes()
	}
	for _, acl := range []struct {
		kind  yarnpb.AccessType
		users spec.People
	}{{yarnpb.AccessType_VIEW_APP, c.ACLs.View.And(c.ACLs.Modify)}, {yarnpb.AccessType_MODIFY_APP, c.ACLs.Modify}} {
		if !acl.users.IsZero() {
			out.Acls = append(out.Acls, &yarnpb.AppACL{Type: acl.kind.Enum(), Acl: new(acl.users.String())})
		}
	}
	return out, nil
}

// filesystem is the place of a file without its path.
type filesystem struct {
	scheme, host string
	port         int32 // -1 for a logical nameservice
}

func parseFilesystem(text string) (filesystem, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "" || u.Host == "") {
		err = fmt.Errorf("no scheme or no host")
	}
	if err != nil {
		return filesystem{}, fmt.Errorf("fs.defaultFS: %q is not the address of a file system: %w", text, err)
	}
	f := filesystem{scheme: u.Scheme, host: u.Host, port: -1}
	if host, port, err := net.SplitHostPort(u.Host); err == nil {
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return filesystem{}, fmt.Errorf("fs.defaultFS: %q: port %q is not a number", text, port)
		}
		f.host, f.port = host, int32(n)
	}
	return f, nil
}

// proto describes a file to a node. Archives go as plain files: executors
// unpack them, because YARN keeps neither links nor modes.
func (r Resource) proto(at filesystem) *yarnpb.LocalResource {
	visibility := yarnpb.LocalResourceVisibility_PRIVATE
	switch {
	case r.Public:
		visibility = yarnpb.LocalResourceVisibility_PUBLIC
	case r.Once:
		visibility = yarnpb.LocalResourceVisibility_APPLICATION
	}
	return &yarnpb.LocalResource{
		Resource:   &yarnpb.URL{Scheme: new(at.scheme), Host: new(at.host), Port: new(at.port), File: new(r.Path)},
		Size:       new(r.Size),
		Timestamp:  new(r.Time),
		Type:       yarnpb.LocalResourceType_FILE.Enum(),
		Visibility: visibility.Enum(),
	}
}

package conf

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostPort(t *testing.T) {
	tests := []struct{ in, want string }{
		{"rm", "rm:8032"},
		{" rm:9 ", "rm:9"},
		{"10.0.0.1", "10.0.0.1:8032"},
		{"[::1]:9", "[::1]:9"},
		{"[::1]", "[::1]:8032"},
		{"::1", "[::1]:8032"},
		{"", ""}, {"rm:", ""}, {"rm:x", ""}, {"rm:70000", ""}, {"rm:0", ""}, {":8032", ""}, {"rm:1:2", ""}, {"http://rm", ""}, {"${none}:1", ""}, {"a,b", ""},
	}
	for _, tt := range tests {
		got, err := hostPort(tt.in, 8032)
		if got != tt.want || (err != nil) != (tt.want == "") || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%q: got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestPrincipal(t *testing.T) {
	tests := []struct{ pattern, host, want string }{
		{"rm/_HOST@REALM", "RM1.Example.org:8032", "rm/rm1.example.org@REALM"},
		{"rm/_HOST", "h", "rm/h"},
		{"rm/fixed@REALM", "h", "rm/fixed@REALM"},
		{"rm@REALM", "h", "rm@REALM"},
		{"rm/my_HOST@REALM", "h", "rm/my_HOST@REALM"},
	}
	for _, tt := range tests {
		if got := Principal(tt.pattern, tt.host); got != tt.want {
			t.Errorf("%s at %s: got %s, want %s", tt.pattern, tt.host, got, tt.want)
		}
	}
}

func TestResourceManagers(t *testing.T) {
	tests := []struct {
		name    string
		values  map[string]string
		service Service
		want    []Server
		missing string // the key that the error names
	}{
		{"the address", map[string]string{"yarn.resourcemanager.address": "rm:18032"}, RMClient, []Server{{"", "rm:18032", "yarn.resourcemanager.address"}}, ""},
		{"without a port", map[string]string{"yarn.resourcemanager.scheduler.address": "rm"}, RMScheduler, []Server{{"", "rm:8030", "yarn.resourcemanager.scheduler.address"}}, ""},
		{"the host name", map[string]string{"yarn.resourcemanager.hostname": "rm"}, RMScheduler, []Server{{"", "rm:8030", "yarn.resourcemanager.hostname"}}, ""},
		{"a variable", map[string]string{"yarn.resourcemanager.hostname": "rm", "yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:1"}, RMWeb, []Server{{"", "rm:1", "yarn.resourcemanager.webapp.address"}}, ""},
		{"nothing", nil, RMClient, nil, "yarn.resourcemanager.hostname"},
		{"several", map[string]string{
			"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1, rm2",
			"yarn.resourcemanager.address.rm1": "a:1", "yarn.resourcemanager.hostname.rm2": "b",
		}, RMClient, []Server{{"rm1", "a:1", "yarn.resourcemanager.address.rm1"}, {"rm2", "b:8032", "yarn.resourcemanager.hostname.rm2"}}, ""},
		{"one of several is missing", map[string]string{
			"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
			"yarn.resourcemanager.hostname": "x", "yarn.resourcemanager.hostname.rm1": "a",
		}, RMClient, nil, "yarn.resourcemanager.hostname.rm2"},
		{"no ids", map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.hostname": "x"}, RMClient, nil, "yarn.resourcemanager.ha.rm-ids"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := New(tt.values).ResourceManagers(tt.service)
			if tt.missing != "" {
				if m, ok := errors.AsType[*Missing](err); !ok || m.Key != tt.missing {
					t.Errorf("got %v, want %s missing", err, tt.missing)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	bad := New(map[string]string{"yarn.resourcemanager.address": "rm:none"})
	if _, err := bad.ResourceManagers(RMClient); !errors.Is(err, ErrAddress) || !strings.HasPrefix(err.Error(), "yarn.resourcemanager.address: ") {
		t.Errorf("a bad address: %v", err)
	}
}

func TestRMWebURLs(t *testing.T) {
	c := New(map[string]string{"yarn.resourcemanager.hostname": "rm"})
	got, err := c.RMWebURLs()
	if diff := cmp.Diff([]string{"http://rm:8088"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	got, err = c.With(map[string]string{"yarn.http.policy": "HTTPS_ONLY"}).RMWebURLs()
	if diff := cmp.Diff([]string{"https://rm:8090"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestNameNodes(t *testing.T) {
	ha := map[string]string{
		"fs.defaultFS": "hdfs://prod/base", "dfs.nameservices": "prod,solo", "dfs.ha.namenodes.prod": "nn1,nn2",
		"dfs.namenode.rpc-address.prod.nn1": "a:9000", "dfs.namenode.rpc-address.prod.nn2": "b",
		"dfs.namenode.rpc-address.solo": "s:9000",
	}
	prod := Filesystem{Authority: "prod", Service: "ha-hdfs:prod", NameNodes: []Server{
		{"nn1", "a:9000", "dfs.namenode.rpc-address.prod.nn1"}, {"nn2", "b:8020", "dfs.namenode.rpc-address.prod.nn2"},
	}}
	tests := []struct {
		name   string
		values map[string]string
		uri    string
		want   Filesystem
		is     error
		says   string
	}{
		{"default", map[string]string{"fs.defaultFS": "hdfs://nn:18020"}, "", Filesystem{Authority: "nn:18020", NameNodes: []Server{{"", "nn:18020", "fs.defaultFS"}}}, nil, ""},
		{"old name, default port", map[string]string{"fs.default.name": "hdfs://nn/"}, "/user/bob", Filesystem{Authority: "nn", NameNodes: []Server{{"", "nn:8020", "fs.defaultFS"}}}, nil, ""},
		{"a nameservice", ha, "", prod, nil, ""},
		{"a nameservice by URI", ha, "hdfs://prod/x", prod, nil, ""},
		{"a nameservice of one", ha, "hdfs://solo", Filesystem{Authority: "solo", NameNodes: []Server{{"", "s:9000", "dfs.namenode.rpc-address.solo"}}}, nil, ""},
		{"another cluster", ha, "hdfs://other:1/x", Filesystem{Authority: "other:1", NameNodes: []Server{{"", "other:1", "fs.defaultFS"}}}, nil, ""},
		{"nothing", nil, "", Filesystem{}, ErrMissing, "fs.defaultFS"},
		{"a missing address", map[string]string{"fs.defaultFS": "hdfs://p", "dfs.nameservices": "p", "dfs.ha.namenodes.p": "x"}, "", Filesystem{}, ErrMissing, "dfs.namenode.rpc-address.p.x"},
		{"a missing address of one", map[string]string{"fs.defaultFS": "hdfs://p", "dfs.nameservices": "p"}, "", Filesystem{}, ErrMissing, "dfs.namenode.rpc-address.p"},
		{"another kind", map[string]string{"fs.defaultFS": "file:///"}, "", Filesystem{}, ErrNotHDFS, "fs.defaultFS: file:///"},
		{"another kind by URI", ha, "s3a://bucket/x", Filesystem{}, ErrNotHDFS, "s3a://bucket/x"},
		{"a bad port", map[string]string{"fs.defaultFS": "hdfs://nn:0"}, "", Filesystem{}, ErrAddress, "nn:0"},
		{"no URI", ha, "hdfs://%zz", Filesystem{}, nil, "%zz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := New(tt.values).NameNodes(tt.uri)
			if tt.says != "" {
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v, want %v with %q", err, tt.is, tt.says)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"a:9000", "b:8020"}, Addresses(prod.NameNodes)); diff != "" {
		t.Error(diff)
	}
}

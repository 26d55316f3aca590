package conf

// defaults are the values that Hadoop ships with and that files commonly refer
// to, or that decide how to speak to a cluster. They are not the whole of
// core-default.xml: whoever asks for a value names the default that it means.
var defaults = map[string]string{
	"hadoop.tmp.dir":                       "/tmp/hadoop-${user.name}",
	"hadoop.security.authentication":       "simple",
	"hadoop.rpc.protection":                "authentication",
	"hadoop.security.token.service.use_ip": "true",
	"yarn.resourcemanager.ha.enabled":      "false",
	"yarn.http.policy":                     "HTTP_ONLY",
}

// renamed maps keys of older Hadoop versions that sites still write.
var renamed = map[string]string{
	"fs.default.name":             "fs.defaultFS",
	"dfs.federation.nameservices": "dfs.nameservices",
	"dfs.block.size":              "dfs.blocksize",
	"dfs.umaskmode":               "fs.permissions.umask-mode",
	"dfs.permissions":             "dfs.permissions.enabled",
	"dfs.name.dir":                "dfs.namenode.name.dir",
	"dfs.data.dir":                "dfs.datanode.data.dir",
	"dfs.http.address":            "dfs.namenode.http-address",
	"dfs.https.address":           "dfs.namenode.https-address",
}

// current is the name that a key has today.
func current(key string) string {
	if now, ok := renamed[key]; ok {
		return now
	}
	return key
}

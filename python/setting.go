package python

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// deciding are the variables of the user's environment that say what an
// installer chooses; others say only how fast or how loudly it works.
var deciding = map[string][]string{
	"pip": {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_PRE", "PIP_NO_BINARY", "PIP_ONLY_BINARY",
		"PIP_PREFER_BINARY", "PIP_CONSTRAINT", "PIP_NO_DEPS", "PIP_NO_BUILD_ISOLATION", "PIP_PLATFORM", "PIP_UPLOADED_PRIOR_TO"},
	"uv": {"UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_NO_INDEX", "UV_FIND_LINKS", "UV_PRERELEASE", "UV_RESOLUTION",
		"UV_INDEX_STRATEGY", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "UV_EXCLUDE_NEWER", "UV_NO_BINARY", "UV_NO_BINARY_PACKAGE",
		"UV_NO_BUILD", "UV_NO_BUILD_PACKAGE", "UV_NO_BUILD_ISOLATION", "UV_TORCH_BACKEND", "UV_FORK_STRATEGY", "UV_NO_SOURCES"},
}

// password is what stands before the host in an address. It says who asks, not
// what the answer is.
var password = regexp.MustCompile(`://[^/@\s]*@`)

// settings are the user's own that decide what an installer chooses. They go
// into a hash and nowhere else.
func settings(installer string, environ []string) []string {
	out := []string{installer}
	for _, name := range deciding[installer] {
		if v := variable(environ, name); v != "" {
			out = append(out, name+"="+password.ReplaceAllString(v, "://"))
		}
	}
	for _, path := range settingFiles(installer, environ) {
		if text, err := os.ReadFile(path); err == nil {
			sum := sha256.Sum256([]byte(password.ReplaceAllString(string(text), "://")))
			out = append(out, hex.EncodeToString(sum[:]))
		}
	}
	return out
}

// settingFiles are where an installer looks for settings of the machine and of
// the user.
func settingFiles(installer string, environ []string) []string {
	home := variable(environ, "HOME")
	config := variable(environ, "XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	var out []string
	switch installer {
	case "pip":
		out = []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf", filepath.Join(home, ".pip", "pip.conf"), filepath.Join(config, "pip", "pip.conf"),
			variable(environ, "PIP_CONFIG_FILE")}
	case "uv":
		out = []string{"/etc/uv/uv.toml", filepath.Join(config, "uv", "uv.toml"), variable(environ, "UV_CONFIG_FILE")}
	}
	return slices.DeleteFunc(out, func(path string) bool { return !strings.HasPrefix(path, "/") })
}

// Package version says which build of muster this is: what the linker or the
// Go tool recorded comes in, one string out.
package version

import "runtime/debug"

// version is set by the Makefile with -ldflags -X.
var version string

// String is the version for people: a tag or a commit of a release build, the
// module version of a "go install", else "devel".
func String() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

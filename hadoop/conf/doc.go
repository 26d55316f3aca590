// Package conf reads Hadoop's site files: a configuration directory or XML goes
// in; values with their variables filled in, and where each came from, come out.
//
// The rules are those of Hadoop's own Configuration: later files win over
// earlier ones unless a property is final; `${key}` names another property,
// `${env.NAME}` (with `-` or `:-` and a default) a variable of the environment,
// `${user.name}` the user; XInclude with fallback is followed. What is read is
// bounded in size, depth and number, so that a hostile file is an error and not
// an exhausted machine.
//
// Beside single values it answers what every client asks: where the
// ResourceManagers (Conf.ResourceManagers) and the NameNodes (Conf.NameNodes)
// are, and what their Kerberos principals are.
package conf

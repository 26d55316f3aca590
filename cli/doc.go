// Package cli is muster's command line: arguments, environment, standard
// streams and signals come in as an Env; output and an exit status go out.
//
// Each verb is a file. Nothing outside this package reads an environment
// variable of the process or calls os.Exit.
//
// The voice of messages (see fault.go): lower case, no full stop,
// "muster: thing: what is wrong: cause", then "hint:" lines; all problems of
// one kind are told at once.
package cli

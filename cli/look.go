package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
	"github.com/muster-project/muster/storage/archive"
)

// lookAround tells what the job names and this machine does not have: its work
// directory, files, scripts. A job that would die of it in a minute, with a
// message of somebody else's, is refused now.
func (a *assembly) lookAround() []error {
	job := a.resolved.Job
	var problems []error
	complain := func(path, text, hint string) {
		problems = append(problems, a.fault(exitJobFile, path, text, hint))
	}
	work := job.Workdir.Path
	if work != "" && !filepath.IsAbs(work) {
		work = filepath.Join(a.dir, work)
	}
	if work == "/" && !job.Workdir.InPlace {
		complain("workdir", "/: is the whole machine, and would be packed", "name the directory of your code; {path: /, in_place: true} packs nothing")
		work = ""
	}
	if work != "" {
		if err := wantDir(work); err != nil {
			complain("workdir", fmt.Sprintf("%s: %v", job.Workdir.Path, err), "")
			work = ""
		}
	}
	for i, f := range job.Files {
		a.lookFile(i, f, complain)
	}
	a.lookPython(complain)
	if work != "" {
		problems = append(problems, a.lookScripts(work)...)
	}
	return problems
}

func (a *assembly) lookFile(i int, f spec.File, complain func(path, text, hint string)) {
	if strings.Contains(f.Source, "://") {
		return
	}
	path := f.Source
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.dir, path)
	}
	key := fmt.Sprintf("files[%d]", i)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		complain(key, fmt.Sprintf("%s: %v", f.Source, cause(err)), "")
	case f.Archive && info.IsDir():
		complain(key, f.Source+": is a directory, an archive is expected", "leave out #archive: a directory is sent whole")
	case !info.IsDir() && !info.Mode().IsRegular():
		complain(key, f.Source+": is neither a file nor a directory", "")
	default:
		in, err := os.Open(path)
		if err != nil {
			complain(key, fmt.Sprintf("%s: %v", f.Source, cause(err)), "")
			return
		}
		defer in.Close()
		if f.Archive {
			if err := archive.Known(in); err != nil {
				text, hint, _ := strings.Cut(err.Error(), "\nhint: ")
				complain(key, f.Source+": "+text, hint)
			}
		}
	}
}

// lookScripts looks for the scripts that commands name: the program itself if
// it has a slash, or the first .py or .sh file of an interpreter. A shell line
// with anything but plain words is left alone: what it does nobody can tell.
func (a *assembly) lookScripts(work string) []error {
	var problems []error
	told := map[string]bool{}
	for _, role := range a.resolved.Job.Roles {
		argv := role.Command.Argv
		if role.Command.Shell != "" {
			argv = command.Words(role.Command.Shell)
		}
		script := scriptOf(argv)
		if script == "" || told[script] || a.comesAlong(script) {
			continue
		}
		told[script] = true
		path := script
		if !filepath.IsAbs(path) {
			path = filepath.Join(work, path)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			problems = append(problems, a.fault(exitJobFile, "roles."+role.Name+".command",
				fmt.Sprintf("%s: %v in the work directory %s", script, cause(err), a.env.home(work)), a.nearScript(work, script)))
		case info.IsDir():
			problems = append(problems, a.fault(exitJobFile, "roles."+role.Name+".command",
				fmt.Sprintf("%s: is a directory, a script is expected", script), ""))
		}
	}
	return problems
}

// scriptOf is the script that an argument list would execute, or nothing if
// that cannot be told.
func scriptOf(argv []string) string {
	at := command.Program(command.Literals(argv...))
	if _, text := command.Script(argv); text || at < 0 {
		return ""
	}
	argv = argv[at:]
	if strings.ContainsRune(argv[0], '/') {
		return argv[0]
	}
	base := argv[0]
	if !strings.HasPrefix(base, "python") && base != "bash" && base != "sh" && base != "torchrun" {
		return ""
	}
	for _, word := range argv[1:] {
		switch {
		case word == "-m" || word == "-c" || word == "-":
			return ""
		case strings.HasSuffix(word, ".py") || strings.HasSuffix(word, ".sh"):
			return word
		case !strings.HasPrefix(word, "-") && base != "torchrun":
			return ""
		}
	}
	return ""
}

// comesAlong says that a path lies in something that files: brings.
func (a *assembly) comesAlong(script string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(script)), "/")
	for _, f := range a.resolved.Job.Files {
		name := f.Name
		if name == "" {
			name = filepath.Base(f.Source)
		}
		if name == first || f.Archive && name == "." {
			return true
		}
	}
	return false
}

func (a *assembly) nearScript(work, script string) string {
	entries, _ := os.ReadDir(filepath.Join(work, filepath.Dir(script)))
	var names []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == filepath.Ext(script) {
			names = append(names, entry.Name())
		}
	}
	if near := spec.Suggest(filepath.Base(script), names); near != "" {
		return "did you mean " + filepath.Join(filepath.Dir(script), near) + "?"
	}
	if a.file == "" {
		return "--workdir names another directory"
	}
	return "workdir: names another directory"
}

func wantDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cause(err)
	case !info.IsDir():
		return fmt.Errorf("is a file, a directory is expected")
	}
	dir, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	return dir.Close()
}

// wantArchive wants a file that can be unpacked, as far as its beginning tells.
func wantArchive(path string) error {
	if err := wantFile(path); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer in.Close()
	return archive.Known(in)
}

func wantFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cause(err)
	case info.IsDir():
		return errIsDir
	}
	return nil
}

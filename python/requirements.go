package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/muster-project/muster/storage/archive"
)

// readFile reads a file of requirements; above are the files that include it.
func (r *Recipe) readFile(path string, above []string) error {
	if slices.Contains(above, path) {
		return fmt.Errorf("%s: includes itself", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if len(above) > 0 {
			return fmt.Errorf("%s: %s: %w", above[len(above)-1], path, cause(err))
		}
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	return r.readText(path, string(text), above)
}

func (r *Recipe) readText(path, text string, above []string) error {
	above = append(above[:len(above):len(above)], path)
	var wrong []error
	for _, line := range logical(text) {
		wrong = append(wrong, r.line(line, above))
	}
	return errors.Join(wrong...)
}

var comment = regexp.MustCompile(`(^|\s+)#.*$`)

// logical gives the lines that a file of requirements has for its readers:
// without comments and blank lines, continued ones as one.
func logical(text string) []string {
	var out []string
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	begun := ""
	add := func(line string) {
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
			out = append(out, line)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if part, more := strings.CutSuffix(line, `\`); more && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			begun += strings.TrimSpace(part) + " "
			continue
		}
		add(begun + line)
		begun = ""
	}
	add(begun)
	return out
}

// options of a line that name files.
var (
	include    = []string{"-r", "--requirement"}
	constraint = []string{"-c", "--constraint"}
	editable   = []string{"-e", "--editable"}
	links      = []string{"-f", "--find-links"}
)

// line takes one line of a file that the last of above is.
func (r *Recipe) line(line string, above []string) error {
	file := above[len(above)-1]
	if value, ok := option(line, include); ok {
		if remote(value) {
			r.Lines = append(r.Lines, "-r "+value)
			return nil
		}
		return r.readFile(beside(file, value), above)
	}
	if value, ok := option(line, constraint); ok {
		return r.constrain(value, file)
	}
	if value, ok := option(line, links); ok {
		if !remote(value) {
			value = beside(file, value)
			r.sources = append(r.sources, source{path: value})
		}
		r.Lines = append(r.Lines, "--find-links "+oneWord(value))
		return nil
	}
	if value, ok := option(line, editable); ok {
		if remote(value) || strings.Contains(value, "+") {
			r.Lines = append(r.Lines, value)
			return nil
		}
		r.Notes = append(r.Notes, value+": is installed as it is now, not as -e says: tasks do not see later changes")
		line = "./" + value
		if filepath.IsAbs(value) {
			line = value
		}
	}
	r.Lines = append(r.Lines, r.local(line, above))
	return nil
}

// oneWord writes a path with spaces so that pip, which splits options as a shell
// does, and uv, which does not, read the same.
func oneWord(path string) string {
	if !strings.Contains(path, " ") || remote(path) {
		return path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// constrain reads a file of constraints, which may include others.
func (r *Recipe) constrain(value, file string) error {
	if remote(value) {
		r.Lines = append(r.Lines, "-c "+value)
		return nil
	}
	var c Recipe
	if err := c.readFile(beside(file, value), []string{file}); err != nil {
		return err
	}
	r.Constraints = append(append(r.Constraints, c.Lines...), c.Constraints...)
	r.sources = append(r.sources, c.sources...)
	return nil
}

// option gives the value of an option that a line is: -r x, -rx, --requirement=x.
func option(line string, names []string) (string, bool) {
	for _, name := range names {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" {
			continue
		}
		if long := strings.HasPrefix(name, "--"); long && rest[0] != ' ' && rest[0] != '\t' && rest[0] != '=' {
			continue
		}
		return strings.Trim(strings.TrimPrefix(strings.TrimSpace(rest), "="), ` "'`), true
	}
	return "", false
}

func remote(value string) bool { return strings.Contains(value, "://") }

// beside is a path as a file that stands at another one means it.
func beside(file, value string) string {
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(filepath.Dir(file), value)
}

// localLine is a requirement that is a path: itself, extras, and the rest. One
// that begins as paths do may have spaces.
var localLine = regexp.MustCompile(`^((?:\.{1,2}(?:/[^\[;]*?)?|/[^\[;]*?|[^\[;@\s]+/[^\[;@\s]*|[^\[;@\s/]+\.(?:whl|zip|tar\.gz|tgz)))(\[[^\]]*\])?(\s*;.*|\s+--.*)?$`)

var fileURL = regexp.MustCompile(`^([\w.\-\[\],]+\s*@\s*)?file:(?://)?(/[^;\s#]*)`)

// local makes the path that a requirement is absolute, and notes that its
// content counts. Paths start at the file that names them or, as installers have
// it, at the first file.
func (r *Recipe) local(line string, above []string) string {
	if m := fileURL.FindStringSubmatch(line); m != nil {
		if path, err := url.PathUnescape(m[2]); err == nil {
			r.sources = append(r.sources, source{path: path})
		}
		return line
	}
	m := localLine.FindStringSubmatch(line)
	if m == nil || remote(m[1]) {
		return line
	}
	path := beside(above[len(above)-1], m[1])
	if _, err := os.Stat(path); err != nil {
		if first := beside(above[0], m[1]); exists(first) {
			path = first
		}
	}
	r.sources = append(r.sources, source{path: path})
	return path + m[2] + m[3]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// made are traces that building a package leaves in its sources.
var traces = []string{"/build/", "/dist/", "*.egg-info/", "__pycache__/", "*.pyc", "/.venv/", "/venv/"}

// sum finds out the content of everything local.
func (r *Recipe) sum(ctx context.Context) error {
	var wrong []error
	for i := range r.sources {
		s := &r.sources[i]
		info, err := os.Stat(s.path)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", r.Path, s.path, cause(err)))
			continue
		}
		h := sha256.New()
		if info.IsDir() {
			_, err = archive.Pack(ctx, h, s.path, archive.Options{Ignore: traces})
		} else {
			err = sumFile(h, s.path)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		s.sum = hex.EncodeToString(h.Sum(nil))
	}
	return errors.Join(wrong...)
}

func sumFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w", path, cause(err))
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("%s: cannot be read: %w", path, cause(err))
	}
	return nil
}

package spec

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

const documentHead = `# The job file

<!-- written by "go test ./spec -run Document -update" from the doc tags in spec/; do not edit -->

A job file is YAML; JSON is read too. It is read strictly: an unknown key, a key that is written twice and a value of the
wrong kind are errors with line and column, and all problems of a file are told at once. Byte-order marks and DOS line ends
are understood.

A job with one role may write the keys of a role at the top level:

` + "```yaml" + `
command: python train.py --epochs 3
instances: 2
memory: 4GiB
` + "```" + `

A job with several roles names them. What a role does not say it takes from the top level, except %s, which belong to one
role each. ` + "`env`" + ` of the top level lies under that of the role, key by key. Roles named %s have a program of their
own (docs/progress.md): from the top level they take neither the command nor what the work needs, %s.

` + "```yaml" + `
framework: tensorflow
command: python train.py
roles:
  chief:  {instances: 1, memory: 4GiB}
  worker: {instances: 3..4, memory: 4GiB, gpus: 1, restarts: 3}
` + "```" + `

## How values are written

| kind | written | not understood |
|---|---|---|
| size | ` + "`4GiB`, `4G`, `4g`, `512MiB`, `1.5TiB`, `1000B`" + ` | a bare number and ` + "`4GB`" + `, which systems read differently |
| duration | ` + "`90s`, `2h`, `1h30m`, `2d`, `12:00:00`, `1-12:00:00`" + ` | a bare number and ` + "`1:30`" + `, which systems read differently |
| number or range | ` + "`4`, `3..4`" + ` | ` + "`3-4`" + ` |
| number or percentage | ` + "`2`, `10%%`" + ` | |
| command | a string, run by ` + "`bash -c`" + `, or a list, executed as it is | |
| environment | text, numbers and truth values as they are written, or ` + "`{expand: 'text with $VAR'}`" + ` | nothing at all; write ` + "`\"\"`" + ` |
| file | ` + "`SOURCE`, `SOURCE::NAME`, `SOURCE#archive`, `SOURCE::NAME#archive`, `SOURCE#NAME`" + `; ` + "`#archive`" + ` unpacks, ` + "`#NAME`" + ` only names | |
| people | users, a blank, groups: ` + "`\"alice,bob research\"`" + `; or a list: ` + "`[alice, bob, \"group:research\"]`" + `; or ` + "`\"*\"`" + ` for everybody | |
| workdir | a directory, ` + "`{path: ., in_place: true}`, `none`" + ` | |

## Where values come from

Built-in values lie under those of the site's file, these under those of the user's file, these under the job file, and
flags lie on top. Mappings such as ` + "`env` and `roles`" + ` are merged key by key, lists are replaced. ` + "`muster config FILE`" + ` shows
each value and where it was written. ` + "`--set PATH=VALUE`" + ` sets any of the paths below; the value is read as YAML.

`

// Document is docs/job-file.md: what a job file and a site file can say.
func Document() []byte {
	var b bytes.Buffer
	codes := func(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
	fmt.Fprintf(&b, documentHead, codes(ownKeys), codes(slices.Sorted(maps.Keys(commands))), codes(workKeys[1:]))
	b.WriteString("## The job\n\n")
	table(&b, func(path string) bool { return !strings.HasPrefix(path, "roles.") })
	b.WriteString("\n## A role\n\n")
	table(&b, func(path string) bool { return strings.HasPrefix(path, "roles.") })
	b.WriteString("\n## The site's file and the user's file\n\nThe site's file:\n\n")
	structTable(&b, reflect.TypeFor[Site]())
	b.WriteString("\nA user and a queue each have `defaults` and `limits`. The user's own file has `defaults` and `limits` too. Limits:\n\n")
	structTable(&b, reflect.TypeFor[Limits]())
	return b.Bytes()
}

func table(b *bytes.Buffer, want func(path string) bool) {
	b.WriteString("| path | takes | meaning |\n|---|---|---|\n")
	for _, s := range Settings() {
		if want(s.Path) {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", s.Path, s.Type, s.Doc)
		}
	}
}

func structTable(b *bytes.Buffer, t reflect.Type) {
	b.WriteString("| key | takes | meaning |\n|---|---|---|\n")
	for _, f := range fieldsOf(t) {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, typeName(f.typ), f.doc)
	}
}

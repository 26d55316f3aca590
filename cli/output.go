package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/muster-project/muster/spec"
)

// output is the value of -o.
type output struct{ format string }

// flag adds -o with the given words; the first is the default.
func (o *output) flag(cmd *cobra.Command, words ...string) {
	o.format = words[0]
	help := "output: " + words[0]
	for _, w := range words[1:] {
		help += ", " + w
	}
	cmd.Flags().VarP(&outputValue{o, words}, "out", "o", help)
	_ = cmd.RegisterFlagCompletionFunc("out", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

type outputValue struct {
	o     *output
	words []string
}

func (v *outputValue) String() string { return v.o.format }
func (v *outputValue) Type() string   { return "FORMAT" }
func (v *outputValue) Set(s string) error {
	if slices.Contains(v.words, s) {
		v.o.format = s
		return nil
	}
	if near := spec.Suggest(s, v.words); near != "" {
		return fmt.Errorf("no such format, did you mean %s", near)
	}
	return fmt.Errorf("no such format, takes %s", strings.Join(v.words, ", "))
}

// data says that the output is for programs.
func (o *output) data() bool { return o.format == "json" || o.format == "yaml" }

// write prints v as JSON or YAML, with the same keys in both.
func (o *output) write(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	out := b.Bytes()
	if o.format == "yaml" {
		var err error
		if out, err = yaml.JSONToYAML(out); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	_, err := w.Write(out)
	return err
}

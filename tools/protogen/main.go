// Command protogen compiles .proto files and writes the Go code beside them.
// It needs no protoc: the compiler is a Go package, and protoc-gen-go runs as a
// plugin out of this module, so go.mod pins both.
//
//	go run ./protogen ../wire/internal/pb/wire.proto
//	go run ./protogen -root ../hadoop/pb yarnpb/yarn.proto
//
// Imports are looked for in the root, by default the file's own directory.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	root := flag.String("root", "", "the directory that imports, and the files themselves, are named from")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: protogen [-root DIR] FILE.proto …")
		os.Exit(64)
	}
	for _, file := range flag.Args() {
		dir, name := *root, file
		if dir == "" {
			dir, name = filepath.Split(file)
		}
		if err := generate(context.Background(), dir, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func generate(ctx context.Context, dir, name string) error {
	files, err := compile(ctx, dir, name)
	if err != nil {
		return err
	}
	answer, err := plugin(ctx, &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      files,
	})
	if err != nil {
		return err
	}
	for _, f := range answer.GetFile() {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compile gives the file and everything it imports, imports first.
func compile(ctx context.Context, dir, name string) ([]*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the generated code
	}
	linked, err := c.Compile(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		out = append(out, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range linked {
		add(f)
	}
	return out, nil
}

// plugin runs protoc-gen-go as protoc would: request on stdin, answer on stdout.
func plugin(ctx context.Context, req *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	in, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "protoc-gen-go")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", errors.New(answer.GetError()))
	}
	return &answer, nil
}

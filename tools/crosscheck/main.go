// Command crosscheck type-checks the packages of this module for the systems that are not
// this one, their tests too, from source: what a build for each would refuse, at a fraction of
// its time, for no code is generated. It does not link: what only a linker sees, an assembly
// file or a directive to it, it does not know.
//
// Errors of the modules that this one needs count too, those of the standard library do not: of
// that it reads declarations alone.
//
//	crosscheck [-dir DIR] GOOS/GOARCH… -- PATTERN…
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("dir", ".", "the module's directory")
	flag.Parse()
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, args []string) error {
	at := slices.Index(args, "--")
	if at < 1 || at == len(args)-1 {
		return errors.New("usage: crosscheck [-dir DIR] GOOS/GOARCH… -- PATTERN…")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find the standard library: %w", err)
	}
	std := filepath.Join(strings.TrimSpace(string(out)), "src") + string(filepath.Separator)
	wrong := 0
	for _, system := range args[:at] {
		n, bad, err := check(dir, std, system, args[at+1:])
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		fmt.Printf("%-14s %d packages, %d errors\n", system, n, bad)
		wrong += bad
	}
	if wrong > 0 {
		return fmt.Errorf("%d errors", wrong)
	}
	return nil
}

// check loads the packages for a system, prints each error once, and counts both.
func check(dir, std, system string, patterns []string) (n, bad int, err error) {
	goos, arch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, 0, errors.New("want GOOS/GOARCH")
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedModule | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir: dir, Tests: true, Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
		ParseFile: func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
			return parse(std, set, name, src)
		},
	}, patterns...)
	if err != nil {
		return 0, 0, err
	}
	said := map[string]bool{} // a file is in its package and in that of its test
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Module == nil {
			return // the standard library, or a main that go test writes
		}
		for _, e := range p.Errors {
			if text := e.Error(); !said[text] {
				said[text] = true
				fmt.Printf("%s: %s\n", system, text)
			}
		}
	})
	return len(loaded), len(said), nil
}

// parse reads a file; of the standard library without what functions do.
func parse(std string, set *token.FileSet, name string, src []byte) (*ast.File, error) {
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if f == nil || !strings.HasPrefix(name, std) {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	return f, err
}

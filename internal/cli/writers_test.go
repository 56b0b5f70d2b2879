package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// No command can forget to make a text plain: what it prints goes through the screens of
// its environment, or as a document. What passes these by is in
// this list, with the reason.
func TestCommandsWriteToScreens(t *testing.T) {
	allowed := map[string]string{
		"report.go Bytes":        "a Parquet file is no text",
		"demo.go Stream":         "the process is linerate, and has screens of its own",
		"lab.go Stream":          "the user runs a program of his own",
		"progress.go Stream":     "asks whether it is a terminal",
		"watch_view.go Stream":   "asks whether it is a terminal",
		"watch_screen.go Stream": "asks whether it is a terminal, and draws documents on it",
	}
	banned := map[string]bool{"Stdout": true, "Stderr": true, "Stream": true, "Bytes": true, "NewWriter": true, "NewScreen": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			on, method := expr(x.X), x.Sel.Name
			switch {
			case strings.HasPrefix(on, "fmt") && strings.HasPrefix(method, "Print"), on == "os" && (method == "Stdout" || method == "Stderr"):
				t.Errorf("%s: %s.%s goes past the screens", name, on, method)
			case on == "tabwriter" && method == "NewWriter":
				t.Errorf("%s: document.Table makes cells plain", name)
			case on == "document" && method == "NewScreen" && name != "cli.go":
				t.Errorf("%s: the screens are made in cli.go", name)
			case banned[method] && (on == "env.out" || on == "env.err"):
				if _, ok := allowed[name+" "+method]; !ok {
					t.Errorf("%s: %s.%s goes past what makes text plain", name, on, method)
				}
			}
			return true
		})
	}
}

// expr is an expression of names and dots as it is written.
func expr(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return expr(x.X) + "." + x.Sel.Name
	}
	return ""
}

func TestOwnLines(t *testing.T) {
	for text, want := range map[string]string{
		"one":                         "one",
		"two\nlinerate: all is well":  "two\n  linerate: all is well",
		"two\n  indented\n\nthird\n":  "two\n  indented\n\n  third\n",
		"two\n\tby a tab\n one blank": "two\n  \tby a tab\n   one blank",
	} {
		if got := ownLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

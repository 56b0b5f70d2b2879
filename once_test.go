package linerate

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// once are the functions of which the tree has one, in lower case, each with the room that has it.
// One that rounds otherwise on purpose has a name that says how (unit/percent.go, stat.go).
var once = map[string]string{
	"median":    "internal/stat",
	"percent":   "internal/unit",
	"plural":    "internal/unit",
	"firstline": "internal/failure",
}

// A second median or percent under the same name would sooner or later round differently.
func TestOneFunctionOfEachName(t *testing.T) {
	found := map[string]int{}
	declared := func(s source, name string) {
		room, ok := once[strings.ToLower(name)]
		if !ok {
			return
		}
		if found[room+name]++; path.Dir(s.file) != room || found[room+name] > 1 {
			t.Errorf("%s declares %s: %s has it; if this one rounds otherwise, let its name say how", s.file, name, room)
		}
	}
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared(s, d.Name.Name)
				}
			case *ast.AssignStmt: // median := func(…
				for i, of := range d.Rhs {
					if name, ok := d.Lhs[min(i, len(d.Lhs)-1)].(*ast.Ident); ok {
						if _, isFunc := of.(*ast.FuncLit); isFunc {
							declared(s, name.Name)
						}
					}
				}
			}
			return true
		})
	}
	if len(found) != len(once) {
		t.Errorf("found %v of %v: are they named otherwise now?", found, once)
	}
}

// The kinds of lock that one process takes are to exclude each other: one room takes them all.
func TestOnlyKernelLocksFiles(t *testing.T) {
	locks := map[string]bool{"Flock": true, "FcntlFlock": true, "LockFileEx": true}
	for _, s := range sources(t) {
		if s.room == "kernel" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && locks[sel.Sel.Name] {
				t.Errorf("%s calls %s: kernel.LockFile and kernel.LockOpened do that", s.file, sel.Sel.Name)
			}
			return true
		})
	}
}

// middles are lists whose middle is taken and which are no values that were measured.
var middles = map[string]string{
	"internal/lab/fault/fault.go": "the severities of a fault, as the catalogue lists them",
	"bench/diagnosis/matrix.go":   "likewise",
}

// v[len(v)/2] is a median that does not say what it does with an even number.
func TestMiddlesSayWhichTheyTake(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.room == "stat" || middles[s.file] != "" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if at, ok := n.(*ast.IndexExpr); ok && halfOfLen(at.Index) {
				t.Errorf("%s takes the middle of a list: stat.Median, stat.NearestRank and stat.UpperMiddle say which", s.file)
			}
			return true
		})
	}
}

// halfOfLen tells len(x)/2 and (len(x)-1)/2.
func halfOfLen(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.QUO {
		return false
	}
	if two, ok := b.Y.(*ast.BasicLit); !ok || two.Value != "2" {
		return false
	}
	of := b.X
	if p, ok := of.(*ast.ParenExpr); ok {
		if less, ok := p.X.(*ast.BinaryExpr); ok {
			of = less.X
		}
	}
	call, ok := of.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "len"
}

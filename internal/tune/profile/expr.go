package profile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/unit"
)

// Bounds of an expression, far above real ones, so that a hostile file neither overflows the
// stack nor takes time.
const (
	maxExpression = 256 // bytes
	maxDepth      = 24
)

// expression is an arithmetic formula over named quantities:
//
//	sum     = product { ("+" | "-") product }
//	product = atom { ("*" | "/") atom }
//	atom    = number [unit] | name | function "(" sum { "," sum } ")" | "(" sum ")"
//
// Units are those of amounts (KiB … TiB, kB … TB), rates (kbit, Mbit, Gbit)
// and times (us, ms, s); values are in bytes, bit/s and seconds.
type expression struct {
	text string
	eval func(env environment) (float64, error)
}

// environment gives quantities their values.
type environment interface {
	// quantity returns a value, or *UnknownError if it is unknown.
	quantity(name string) (float64, error)
}

// UnknownError is an unknown quantity of a rule, and how to obtain it.
type UnknownError struct{ What, How string }

// Error says both.
func (e *UnknownError) Error() string { return e.What + ": " + e.How }

// parseExpression parses a formula. Unknown names are an error.
func parseExpression(text string) (expression, error) {
	if len(text) > maxExpression {
		return expression{}, fmt.Errorf("formula of %d bytes: at most %d", len(text), maxExpression)
	}
	p := &formula{rest: text}
	eval, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("%q is left over", strings.TrimSpace(p.rest))
	}
	if err != nil {
		return expression{}, fmt.Errorf("formula %q: %w", text, err)
	}
	return expression{strings.Join(strings.Fields(text), " "), eval}, nil
}

// value evaluates the formula. The result is finite and not negative.
func (x expression) value(env environment) (float64, error) {
	v, err := x.eval(env)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("formula %q gives %v: want a number that is not negative", x.text, v)
	}
	return v, nil
}

// evaluator is a parsed part of a formula.
type evaluator = func(environment) (float64, error)

// formula is the rest of the text to parse.
type formula struct {
	rest  string
	depth int
}

// peek is the next byte that is not a space; 0 at the end.
func (p *formula) peek() byte {
	p.rest = strings.TrimLeft(p.rest, " \t")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *formula) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *formula) sum() (evaluator, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	defer func() { p.depth-- }()
	return p.chain(p.product, map[byte]func(a, b float64) float64{
		'+': func(a, b float64) float64 { return a + b },
		'-': func(a, b float64) float64 { return a - b },
	})
}

func (p *formula) product() (evaluator, error) {
	return p.chain(p.atom, map[byte]func(a, b float64) float64{
		'*': func(a, b float64) float64 { return a * b },
		'/': func(a, b float64) float64 { return a / b },
	})
}

// chain parses parts joined by operators, which associate to the left.
func (p *formula) chain(part func() (evaluator, error), operators map[byte]func(a, b float64) float64) (evaluator, error) {
	left, err := part()
	if err != nil {
		return nil, err
	}
	for {
		op, ok := operators[p.peek()]
		if !ok {
			return left, nil
		}
		p.rest = p.rest[1:]
		right, err := part()
		if err != nil {
			return nil, err
		}
		left = both(left, right, op)
	}
}

func both(left, right evaluator, op func(a, b float64) float64) evaluator {
	return func(env environment) (float64, error) {
		a, err := left(env)
		if err != nil {
			return 0, err
		}
		b, err := right(env)
		return op(a, b), err
	}
}

func (p *formula) atom() (evaluator, error) {
	c := p.peek()
	switch {
	case c == '(':
		p.rest = p.rest[1:]
		inner, err := p.sum()
		if err == nil && !p.take(')') {
			err = errors.New("a bracket is not closed")
		}
		return inner, err
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case c == 0:
		return nil, errors.New("it ends where a number or a name is due")
	}
	name := p.word()
	if name == "" {
		return nil, fmt.Errorf("%q where a number or a name is due", c)
	}
	if p.peek() == '(' {
		return p.call(name)
	}
	if !slices.ContainsFunc(Quantities(), func(q Quantity) bool { return q.Name == name }) {
		return nil, fmt.Errorf("there is no quantity %q; there are %s", name, strings.Join(quantityNames(), ", "))
	}
	return func(env environment) (float64, error) { return env.quantity(name) }, nil
}

// word parses letters, digits and underscores.
func (p *formula) word() string {
	n := strings.IndexFunc(p.rest, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if n < 0 {
		n = len(p.rest)
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func (p *formula) number() (evaluator, error) {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if n < 0 {
		n = len(p.rest)
	}
	digits := p.rest[:n]
	p.rest = p.rest[n:]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", digits)
	}
	if name := p.unitName(); name != "" {
		scale, ok := scales()[name]
		if !ok {
			return nil, fmt.Errorf("%q is no unit: KiB, MiB, GiB, kB, MB, GB, kbit, Mbit, Gbit, us, ms or s", name)
		}
		v *= scale
	}
	return func(environment) (float64, error) { return v, nil }, nil
}

// unitName parses a unit after a number, with or without a space.
func (p *formula) unitName() string {
	if c := p.peek(); c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
		return ""
	}
	return p.word()
}

func scales() map[string]float64 {
	return map[string]float64{
		"B": 1, "kB": float64(unit.KB), "KB": float64(unit.KB), "MB": float64(unit.MB), "GB": float64(unit.GB), "TB": float64(unit.TB),
		"KiB": float64(unit.KiB), "MiB": float64(unit.MiB), "GiB": float64(unit.GiB), "TiB": float64(unit.TiB),
		"kbit": float64(unit.Kbit), "Mbit": float64(unit.Mbit), "Gbit": float64(unit.Gbit),
		"us": time.Microsecond.Seconds(), "ms": time.Millisecond.Seconds(), "s": 1,
	}
}

// call parses the arguments of a function.
func (p *formula) call(name string) (evaluator, error) {
	p.take('(')
	var args []evaluator
	for {
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		if args = append(args, arg); p.take(',') {
			continue
		}
		if !p.take(')') {
			return nil, fmt.Errorf("%s( is not closed", name)
		}
		return function(name, args)
	}
}

// function builds a call: min and max of any number of arguments, or(a, b), which is b if a is
// unknown, and pow2(a), the smallest power of two that is not below a.
func function(name string, args []evaluator) (evaluator, error) {
	switch {
	case name == "min" || name == "max":
		pick := math.Min
		if name == "max" {
			pick = math.Max
		}
		out := args[0]
		for _, a := range args[1:] {
			out = both(out, a, pick)
		}
		return out, nil
	case name == "or" && len(args) == 2:
		return func(env environment) (float64, error) {
			v, err := args[0](env)
			var unknown *UnknownError
			if errors.As(err, &unknown) {
				return args[1](env)
			}
			return v, err
		}, nil
	case name == "pow2" && len(args) == 1:
		return func(env environment) (float64, error) {
			v, err := args[0](env)
			return math.Exp2(math.Ceil(math.Log2(math.Max(v, 1)))), err
		}, nil
	}
	return nil, fmt.Errorf("there is no function %s with %d arguments; there are min(…), max(…), or(a, b) and pow2(a)", name, len(args))
}

package powershell

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func plus(a, b any) (any, error) {
	switch x := a.(type) {
	case []any:
		return append(append([]any{}, x...), List(b)...), nil
	case string:
		return x + Text(b), nil
	case nil:
		return b, nil
	}
	return arithmetic("+", a, b)
}

func arithmetic(op string, a, b any) (any, error) {
	x, err := number(a)
	if err != nil {
		return nil, err
	}
	y, err := number(b)
	if err != nil {
		return nil, err
	}
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	}
	if y == 0 {
		return nil, Errorf("Attempted to divide by zero.")
	}
	if op == "%" {
		return x % y, nil
	}
	if x%y != 0 {
		return float64(x) / float64(y), nil
	}
	return x / y, nil
}

// same compares as -eq does: by the kind of the left side.
func same(a, b any) (bool, error) {
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case string:
		return b != nil && strings.EqualFold(x, Text(b)), nil
	case bool:
		return x == truth(b), nil
	case []any:
		return false, Errorf("a list on the left of -eq selects of it: not read here")
	case int64, float64, Char:
		if b == nil {
			return false, nil
		}
		m, err := number(a)
		if err != nil {
			return false, err
		}
		n, err := number(b)
		return m == n, err
	}
	return a == b, nil
}

func binary(op string, a, b any) (any, error) {
	op = strings.ToLower(op)
	switch op {
	case "-and", "-or":
		return truth(b), nil
	case "-eq", "-ne":
		eq, err := same(a, b)
		return eq == (op == "-eq"), err
	case "-ceq", "-cne":
		return (Text(a) == Text(b)) == (op == "-ceq"), nil
	case "+":
		return plus(a, b)
	case "-", "*", "/", "%":
		return arithmetic(op, a, b)
	case "-gt", "-ge", "-lt", "-le":
		return compare(op, a, b)
	case "-contains", "-notcontains":
		found := false
		for _, e := range List(a) {
			eq, err := same(e, b)
			if err != nil {
				return nil, err
			}
			found = found || eq
		}
		return found == (op == "-contains"), nil
	case "-join":
		var all []string
		for _, e := range List(a) {
			all = append(all, Text(e))
		}
		return strings.Join(all, Text(b)), nil
	case "..":
		return span(a, b)
	case "-f":
		return format(Text(a), List(b))
	}
	return matched(op, Text(a), b)
}

func compare(op string, a, b any) (any, error) {
	if _, text := a.(string); text {
		return nil, Errorf("%s of a text compares letters: not read here", op)
	}
	x, err := number(a)
	if err != nil {
		return nil, err
	}
	y, err := number(b)
	return map[string]bool{"-gt": x > y, "-ge": x >= y, "-lt": x < y, "-le": x <= y}[op], err
}

func span(a, b any) (any, error) {
	x, err := number(a)
	if err != nil {
		return nil, err
	}
	y, err := number(b)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for ; x <= y; x++ {
		out = append(out, x)
	}
	for x--; len(out) == 0 && x >= y-1; x-- { // downwards
		out = append(out, x+1)
	}
	return out, nil
}

func matched(op, text string, by any) (any, error) {
	pattern, with := Text(by), ""
	if pair := List(by); len(pair) == 2 {
		pattern, with = Text(pair[0]), Text(pair[1])
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil, Errorf("parsing %q: %v", pattern, err)
	}
	switch op {
	case "-match", "-notmatch":
		return re.MatchString(text) == (op == "-match"), nil
	case "-replace":
		return re.ReplaceAllString(text, with), nil
	case "-split":
		out := []any{}
		for _, s := range re.Split(text, -1) {
			out = append(out, s)
		}
		return out, nil
	}
	return nil, Errorf("the operator %s is not read here", op)
}

var place = regexp.MustCompile(`\{(\d+)(?::([a-z])(\d+))?\}`)

func format(pattern string, args []any) (any, error) {
	var bad error
	out := place.ReplaceAllStringFunc(pattern, func(s string) string {
		m := place.FindStringSubmatch(s)
		i, _ := strconv.Atoi(m[1]) // digits
		if i >= len(args) {
			bad = Errorf("Index (zero based) must be greater than or equal to zero and less than the size of the argument list.")
			return ""
		}
		if m[2] == "" {
			return Text(args[i])
		}
		n, err := number(args[i])
		if err != nil {
			bad = err
		}
		if m[2] == "x" {
			return fmt.Sprintf("%0"+m[3]+"x", n)
		}
		return fmt.Sprintf("%0"+m[3]+"d", n)
	})
	return out, bad
}

// own are the cmdlets of the language itself.
func (h Host) own(name string) (Cmdlet, bool) {
	switch name {
	case "convertto-json":
		return Cmdlet{Params: []string{"InputObject", "Compress", "Depth"}, Switches: []string{"Compress"}, Run: func(a map[string]any) ([]any, error) {
			var b strings.Builder
			if err := toJSON(&b, a["inputobject"]); err != nil {
				return nil, err
			}
			return []any{b.String()}, nil
		}}, true
	case "join-path":
		return Cmdlet{Params: []string{"Path", "ChildPath"}, Positional: []string{"Path", "ChildPath"}, Run: func(a map[string]any) ([]any, error) {
			return []any{Text(a["path"]) + `\` + Text(a["childpath"])}, nil
		}}, true
	case "start-sleep":
		return Cmdlet{Params: []string{"Milliseconds"}, Run: func(a map[string]any) ([]any, error) {
			n, err := number(a["milliseconds"])
			if err != nil {
				return nil, err
			}
			sleep := h.Sleep
			if sleep == nil {
				sleep = time.Sleep
			}
			sleep(time.Duration(n) * time.Millisecond)
			return nil, nil
		}}, true
	}
	return Cmdlet{}, false
}

func toJSON(b *strings.Builder, v any) error {
	var h *Hash
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
		return nil
	case bool, int64, float64, string:
		j, err := json.Marshal(v)
		b.Write(j)
		return err
	case Char:
		return toJSON(b, Text(v))
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := toJSON(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case *Hash:
		h = v
	case *Thing:
		h = &v.Hash
	default:
		return Errorf("ConvertTo-Json of %T", v)
	}
	b.WriteByte('{')
	for i, k := range h.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := toJSON(b, k); err != nil {
			return err
		}
		b.WriteByte(':')
		e, _ := h.Get(k)
		if err := toJSON(b, e); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

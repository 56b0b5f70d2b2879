package powershell

import (
	"strconv"
	"strings"
)

// levels are the binary operators, those that bind least first.
func levels() [][]string {
	return [][]string{
		{"-and", "-or"},
		{"-eq", "-ne", "-gt", "-ge", "-lt", "-le", "-match", "-notmatch", "-contains", "-notcontains", "-join", "-split", "-replace", "-ceq", "-cne"},
		{"+", "-"},
		{"*", "/", "%"},
		{"-f"},
		{".."},
	}
}

// operator takes one of a level.
func (p *parser) operator(level int) string {
	for _, op := range levels()[level] {
		if !letter(op[len(op)-1]) {
			if p.has(op) && !(op == "-" && letter(p.s[min(p.at+1, len(p.s)-1)])) {
				p.at += len(op)
				return op
			}
			continue
		}
		n := len(op)
		if p.at+n <= len(p.s) && strings.EqualFold(p.s[p.at:p.at+n], op) && (p.at+n == len(p.s) || !letter(p.s[p.at+n])) {
			p.at += n
			return op
		}
	}
	return ""
}

func (p *parser) expression(level int) expression {
	if level == len(levels()) {
		return p.comma()
	}
	left := p.expression(level + 1)
	for {
		at := p.at
		p.blanks(false)
		op := p.operator(level)
		if op == "" {
			p.at = at
			return left
		}
		p.blanks(true)
		l, r := left, p.expression(level+1)
		left = func(c *context) (any, error) {
			a, err := l(c)
			if err != nil {
				return nil, err
			}
			if op == "-and" && !truth(a) {
				return false, nil
			}
			if op == "-or" && truth(a) {
				return true, nil
			}
			b, err := r(c)
			if err != nil {
				return nil, err
			}
			return binary(op, a, b)
		}
	}
}

func (p *parser) comma() expression {
	first := p.unary()
	all := []expression{first}
	for {
		at := p.at
		p.blanks(false)
		if p.element || !p.take(",") {
			p.at = at
			break
		}
		p.blanks(true)
		all = append(all, p.unary())
	}
	if len(all) == 1 {
		return first
	}
	return func(c *context) (any, error) {
		var list []any
		for _, e := range all {
			v, err := e(c)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
}

func (p *parser) unary() expression {
	not := false
	switch {
	case p.take("!"):
		not = true
	case len(p.s) >= p.at+4 && strings.EqualFold(p.s[p.at:p.at+4], "-not"):
		p.at += 4
		not = true
	}
	if not {
		p.blanks(false)
		of := p.unary()
		return func(c *context) (any, error) {
			v, err := of(c)
			return !truth(v), err
		}
	}
	if p.peek() == '-' && digit(p.s[min(p.at+1, len(p.s)-1)]) {
		p.at++
		of := p.postfix()
		return func(c *context) (any, error) {
			v, err := of(c)
			if err != nil {
				return nil, err
			}
			n, err := number(v)
			return -n, err
		}
	}
	if p.peek() == '[' {
		at := p.at
		typ := p.typeName()
		if p.has("::") {
			p.at = at
			return p.postfix()
		}
		p.blanks(false)
		if b := p.peek(); b == ')' || b == ',' || b == 0 || b == '\n' {
			return func(*context) (any, error) { return Type(typ), nil }
		}
		of := p.unary()
		return func(c *context) (any, error) {
			v, err := of(c)
			if err != nil {
				return nil, err
			}
			return cast(c, typ, v)
		}
	}
	return p.postfix()
}

// typeName reads a type in brackets; it is lower case.
func (p *parser) typeName() string {
	p.want("[")
	from := p.at
	for p.at < len(p.s) && p.s[p.at] != ']' {
		p.at++
		if p.has("[]]") {
			p.at += 2
		}
	}
	name := strings.ToLower(p.s[from:min(p.at, len(p.s))])
	p.want("]")
	if name == "" || strings.ContainsAny(name, " '\"$\n") {
		p.fail("[%s] is no type", name)
	}
	return name
}

// postfix is a value with the members and elements that are taken of it. Its last step can be set:
// that is left in target.
func (p *parser) postfix() expression {
	value := p.primary()
	for {
		of := value
		switch {
		case p.peek() == '.' && letter(p.s[min(p.at+1, len(p.s)-1)]):
			p.at++
			name := p.word(false)
			if p.take("(") {
				args := p.list(")")
				value = func(c *context) (any, error) { return c.method(of, name, args) }
				p.target = nil
				continue
			}
			value = func(c *context) (any, error) {
				v, err := of(c)
				if err != nil {
					return nil, err
				}
				return member(v, name)
			}
			p.target = func(c *context, to any) error { return setMember(c, of, name, to) }
		case p.peek() == '[':
			p.at++
			key := p.group("]")
			value = func(c *context) (any, error) { return index(c, of, key) }
			p.target = func(c *context, to any) error { return setIndex(c, of, key, to) }
		default:
			return value
		}
	}
}

// list reads values between commas up to end.
func (p *parser) list(end string) []expression {
	var all []expression
	for {
		p.blanks(true)
		if p.take(end) {
			return all
		}
		was := p.element
		p.element = true
		all = append(all, p.expression(0))
		p.element = was
		p.blanks(true)
		if !p.take(",") && !p.has(end) {
			p.fail("a list at %.20q", p.s[p.at:])
		}
	}
}

func (p *parser) primary() expression {
	p.target = nil
	switch b := p.peek(); {
	case b == '$':
		return p.variable()
	case b == '\'':
		v := p.quoted()
		return func(*context) (any, error) { return v, nil }
	case b == '"':
		return p.double()
	case digit(b):
		from := p.at
		for digit(p.peek()) {
			p.at++
		}
		n, err := strconv.ParseInt(p.s[from:p.at], 10, 64)
		if err != nil {
			p.fail("%v", err)
		}
		return func(*context) (any, error) { return n, nil }
	case b == '(':
		p.at++
		v := p.group(")")
		p.target = nil
		return v
	case b == '@':
		return p.atSign()
	case b == '{':
		return p.block()
	case b == '[':
		return p.static()
	}
	p.fail("an expression at %.30q", p.s[p.at:])
	return nil
}

func (p *parser) static() expression {
	typ := p.typeName()
	if !p.take("::") {
		return func(*context) (any, error) { return Type(typ), nil }
	}
	name := p.word(false)
	if p.take("(") {
		args := p.list(")")
		return func(c *context) (any, error) {
			all := []any{}
			for _, a := range args {
				v, err := a(c)
				if err != nil {
					return nil, err
				}
				all = append(all, v)
			}
			return c.static(typ, name, all)
		}
	}
	return func(c *context) (any, error) { return c.static(typ, name, nil) }
}

// block reads "{ … }" with or without parameters.
func (p *parser) block() expression {
	p.want("{")
	f := &function{name: "{}"}
	p.blanks(true)
	if at := p.at; p.word(true) == "param" {
		p.params(f)
	} else {
		p.at = at
	}
	f.body = p.statements("}")
	return func(*context) (any, error) { return &scriptBlock{f}, nil }
}

package powershell

import (
	"errors"
	"fmt"
	"strings"
)

type (
	expression func(c *context) (any, error)
	statement  func(c *context, out *[]any) error
)

type parser struct {
	s  string
	at int
	// target sets what postfix has read; nil: that cannot be set.
	target func(c *context, v any) error
	// element: a comma ends the expression.
	element bool
}

func parse(text string) (body statement, err error) {
	p := &parser{s: strings.ReplaceAll(text, "\r\n", "\n")}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("line %d: %s: %w", 1+strings.Count(p.s[:min(p.at, len(p.s))], "\n"), string(e), ErrSyntax)
		}
	}()
	body = p.statements("")
	return body, nil
}

type syntaxError string

func (p *parser) fail(format string, args ...any) { panic(syntaxError(fmt.Sprintf(format, args...))) }

func (p *parser) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.s[p.at:], prefix) }

func (p *parser) take(prefix string) bool {
	if p.has(prefix) {
		p.at += len(prefix)
		return true
	}
	return false
}

func (p *parser) want(prefix string) {
	if !p.take(prefix) {
		p.fail("want %q before %.20q", prefix, p.s[p.at:])
	}
}

// blanks skips what separates words of a line; with lines, line ends too.
func (p *parser) blanks(lines bool) {
	for p.at < len(p.s) {
		switch b := p.s[p.at]; {
		case b == ' ' || b == '\t' || lines && b == '\n':
			p.at++
		case b == '#':
			for p.at < len(p.s) && p.s[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' }
func digit(b byte) bool  { return b >= '0' && b <= '9' }

// word reads letters, digits and hyphens; it is lower case.
func (p *parser) word(hyphens bool) string {
	from := p.at
	for p.at < len(p.s) && (letter(p.s[p.at]) || digit(p.s[p.at]) || hyphens && p.s[p.at] == '-') {
		p.at++
	}
	return strings.ToLower(p.s[from:p.at])
}

// ahead is the next word, which stays.
func (p *parser) ahead() string {
	at := p.at
	w := p.word(true)
	p.at = at
	return w
}

// statements reads up to end, which it takes; "" is the end of the text.
func (p *parser) statements(end string) statement {
	was := p.element
	p.element = false
	defer func() { p.element = was }()
	var all []statement
	for {
		p.blanks(true)
		for p.take(";") {
			p.blanks(true)
		}
		if end != "" && p.take(end) {
			break
		}
		if p.at >= len(p.s) {
			if end != "" {
				p.fail("no %q", end)
			}
			break
		}
		all = append(all, p.statement())
		p.blanks(false)
		if b := p.peek(); b != 0 && b != '\n' && b != ';' && (end == "" || !p.has(end)) {
			p.fail("%.20q after a statement", p.s[p.at:])
		}
	}
	return func(c *context, out *[]any) error {
		for _, s := range all {
			if err := s(c, out); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p *parser) braces() statement {
	p.blanks(true)
	p.want("{")
	return p.statements("}")
}

func (p *parser) statement() statement {
	if letter(p.peek()) {
		at := p.at
		switch w := p.word(true); w {
		case "if":
			return p.ifs()
		case "while":
			return p.while()
		case "foreach":
			return p.foreach()
		case "try":
			return p.try()
		case "function":
			return p.function()
		case "throw", "return", "exit":
			return p.leave(w)
		case "break":
			return func(*context, *[]any) error { return errBreak }
		case "continue":
			return func(*context, *[]any) error { return errContinue }
		case "param", "switch", "for", "do", "filter", "class", "trap", "begin", "process", "end":
			p.fail("%s is not read here", w)
		}
		p.at = at
	}
	return p.pipeline()
}

func (p *parser) condition() expression {
	p.blanks(true)
	p.want("(")
	return p.group(")")
}

func (p *parser) ifs() statement {
	type branch struct {
		when expression
		then statement
	}
	all := []branch{{p.condition(), p.braces()}}
	for {
		at := p.at
		p.blanks(true)
		w := p.ahead()
		if w == "elseif" {
			p.word(true)
			all = append(all, branch{p.condition(), p.braces()})
			continue
		}
		if w == "else" {
			p.word(true)
			all = append(all, branch{nil, p.braces()})
		} else {
			p.at = at
		}
		break
	}
	return func(c *context, out *[]any) error {
		for _, b := range all {
			if b.when != nil {
				v, err := b.when(c)
				if err != nil {
					return err
				}
				if !truth(v) {
					continue
				}
			}
			return b.then(c, out)
		}
		return nil
	}
}

func (p *parser) while() statement {
	when, body := p.condition(), p.braces()
	return func(c *context, out *[]any) error {
		for {
			v, err := when(c)
			if err != nil || !truth(v) {
				return err
			}
			if end, err := looped(body(c, out)); end {
				return err
			}
		}
	}
}

// looped takes break and continue as a loop does.
func looped(err error) (end bool, _ error) {
	switch err {
	case nil, errContinue:
		return false, nil
	case errBreak:
		return true, nil
	}
	return true, err
}

func (p *parser) foreach() statement {
	p.blanks(true)
	p.want("(")
	p.blanks(true)
	p.want("$")
	name := p.word(false)
	p.blanks(true)
	if p.word(false) != "in" {
		p.fail("foreach without in")
	}
	list := p.group(")")
	body := p.braces()
	return func(c *context, out *[]any) error {
		v, err := list(c)
		if err != nil {
			return err
		}
		for _, e := range List(v) {
			c.vars[name] = e
			if end, err := looped(body(c, out)); end {
				return err
			}
		}
		return nil
	}
}

func (p *parser) try() statement {
	body := p.braces()
	var catch, finally statement
	for {
		at := p.at
		p.blanks(true)
		w := p.ahead()
		if w == "catch" && catch == nil && finally == nil {
			p.word(true)
			catch = p.braces()
			continue
		}
		if w == "finally" && finally == nil {
			p.word(true)
			finally = p.braces()
			continue
		}
		p.at = at
		break
	}
	if catch == nil && finally == nil {
		p.fail("try without catch or finally")
	}
	return func(c *context, out *[]any) error {
		err := body(c, out)
		if errors.Is(err, ErrKilled) {
			return err
		}
		if caught, ok := err.(*Error); ok && catch != nil {
			was, had := c.vars["_"]
			c.vars["_"] = record(caught)
			if err = catch(c, out); errors.Is(err, ErrKilled) {
				return err
			}
			if c.vars["_"] = was; !had {
				delete(c.vars, "_")
			}
		}
		if finally != nil {
			if ferr := finally(c, out); ferr != nil {
				return ferr
			}
		}
		return err
	}
}

func record(e *Error) any {
	id := e.ID
	if id == "" {
		id = e.Category
	}
	r := Object("System.Management.Automation.ErrorRecord",
		"Exception", Object(e.Type, "Message", e.Message),
		"CategoryInfo", Object("CategoryInfo", "Category", e.Category),
		"FullyQualifiedErrorId", id)
	r.Text = e.Message
	return r
}

func (p *parser) leave(how string) statement {
	p.blanks(false)
	var value expression
	if b := p.peek(); b != 0 && b != '\n' && b != ';' && b != '}' {
		value = p.pipelineValue()
	}
	return func(c *context, out *[]any) error {
		var v any
		var err error
		if value != nil {
			if v, err = value(c); err != nil {
				return err
			}
		}
		switch how {
		case "exit":
			n, err := number(v)
			if err != nil {
				return err
			}
			return exit{int(n)}
		case "throw":
			return &Error{Text(v), "System.Management.Automation.RuntimeException", "OperationStopped", ""}
		}
		emit(out, v)
		return &returned{}
	}
}

// function reads a function with its parameters.
func (p *parser) function() statement {
	p.blanks(false)
	name := p.word(true)
	p.blanks(true)
	p.want("{")
	f := &function{name: name}
	p.blanks(true)
	if at := p.at; p.word(true) == "param" {
		p.params(f)
	} else {
		p.at = at
	}
	f.body = p.statements("}")
	return func(c *context, _ *[]any) error {
		c.global.functions[name] = f
		return nil
	}
}

func (p *parser) params(f *function) {
	p.blanks(true)
	p.want("(")
	for {
		p.blanks(true)
		if p.take(")") {
			return
		}
		a := parameter{typ: "object"}
		if p.peek() == '[' {
			a.typ = p.typeName()
		}
		p.blanks(true)
		p.want("$")
		a.name = p.word(false)
		p.blanks(true)
		if p.take("=") {
			p.blanks(true)
			p.element = true
			a.fresh = p.expression(0)
			p.element = false
		}
		f.params = append(f.params, a)
		p.blanks(true)
		if !p.take(",") && p.peek() != ')' {
			p.fail("parameters")
		}
	}
}

package powershell

import (
	"strings"
)

// pipeline is an assignment, a command or an expression, whose output may be thrown away.
func (p *parser) pipeline() statement {
	if s, ok := p.assignment(); ok {
		return s
	}
	value := p.source()
	p.blanks(false)
	if p.take("|") {
		p.blanks(true)
		if w := p.word(true); w != "out-null" {
			p.fail("a pipe into %q is not read here", w)
		}
		return func(c *context, _ *[]any) error {
			_, err := value(c)
			return err
		}
	}
	return func(c *context, out *[]any) error {
		v, err := value(c)
		if err == nil {
			emit(out, v)
		}
		return err
	}
}

// source is what a pipeline begins with: a command, whose lists of one collapse, or an
// expression, which stays as it is.
func (p *parser) source() expression {
	if b := p.peek(); letter(b) || b == '&' {
		return p.command()
	}
	return p.expression(0)
}

// pipelineValue is a pipeline whose output is the value.
func (p *parser) pipelineValue() expression {
	p.blanks(true)
	return p.source()
}

// group is a pipeline up to end, which it takes.
func (p *parser) group(end string) expression {
	was := p.element
	p.element = false
	defer func() { p.element = was }()
	p.blanks(true)
	v := p.pipelineValue()
	p.blanks(true)
	p.want(end)
	return v
}

// assignment reads "$target = value" and "+="; false: it is none, and nothing was read.
func (p *parser) assignment() (statement, bool) {
	if p.peek() != '$' {
		return nil, false
	}
	at := p.at
	p.target = nil
	got := p.postfix()
	set := p.target
	p.blanks(false)
	add := p.take("+=")
	if set == nil || !add && (!p.has("=") || p.has("==")) {
		p.at = at
		return nil, false
	}
	if !add {
		p.want("=")
	}
	value := p.pipelineValue()
	return func(c *context, _ *[]any) error {
		v, err := value(c)
		if err == nil && add {
			var was any
			if was, err = got(c); err == nil {
				v, err = plus(was, v)
			}
		}
		if err != nil {
			return err
		}
		return set(c, v)
	}, true
}

type argument struct {
	name  string // of a parameter; empty: a value without
	value expression
}

// command reads a call of a function, a cmdlet, or "& $block".
func (p *parser) command() expression {
	var block expression
	name := ""
	if p.take("&") {
		p.blanks(false)
		block = p.postfix()
	} else {
		from := p.at
		name = p.word(true)
		if p.peek() == '.' || p.peek() == '\\' || p.peek() == ':' {
			p.fail("the command %.30q is not read here", p.s[from:])
		}
	}
	var args []argument
	for {
		p.blanks(false)
		b := p.peek()
		if b == 0 || strings.IndexByte("\n;|)}", b) >= 0 {
			break
		}
		args = append(args, p.argument())
	}
	return func(c *context) (any, error) {
		if block == nil {
			return c.call(name, args)
		}
		v, err := block(c)
		if err != nil {
			return nil, err
		}
		b, ok := v.(*scriptBlock)
		if !ok {
			return nil, Errorf("& wants a script block")
		}
		values, err := c.values(args)
		if err != nil {
			return nil, err
		}
		return c.invoke(b, values)
	}
}

// argument reads one: a word that begins with a hyphen names a parameter.
func (p *parser) argument() argument {
	if p.peek() == '-' && letter(p.s[min(p.at+1, len(p.s)-1)]) {
		p.at++
		name := p.word(false)
		if p.peek() == ':' {
			p.at++
			return argument{name + ":", p.argumentValue()}
		}
		return argument{name: name}
	}
	return argument{value: p.argumentValue()}
}

func (p *parser) argumentValue() expression {
	switch b := p.peek(); {
	case b == '"' || b == '\'' || b == '(' || b == '$' || b == '@' || b == '{':
		return p.postfix()
	case b == '[':
		p.fail("an argument %.20q is a plain word to PowerShell: put it into parentheses", p.s[p.at:])
	}
	from := p.at
	for p.at < len(p.s) && strings.IndexByte(" \t\n;|(){},'\"$", p.s[p.at]) < 0 {
		p.at++
	}
	text := p.s[from:p.at]
	if text == "" {
		p.fail("an argument at %.20q", p.s[p.at:])
	}
	if n, err := number(text); err == nil {
		return func(*context) (any, error) { return n, nil }
	}
	return func(*context) (any, error) { return text, nil }
}

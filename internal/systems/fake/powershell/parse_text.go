package powershell

import "strings"

// variable reads "$name", "$scope:name" and "$( … )".
func (p *parser) variable() expression {
	p.want("$")
	if p.take("(") {
		return collected(p.statements(")"), false)
	}
	name := p.word(false)
	if name == "" {
		p.fail("a variable at %.20q", p.s[p.at:])
	}
	scope := ""
	if p.peek() == ':' && letter(p.s[min(p.at+1, len(p.s)-1)]) {
		p.at++
		scope = name
		name = p.word(false)
	}
	switch scope {
	case "":
		p.target = func(c *context, v any) error { c.vars[name] = v; return nil }
		return func(c *context) (any, error) { return c.get(name) }
	case "script", "global":
		p.target = func(c *context, v any) error { c.global.vars[name] = v; return nil }
		return func(c *context) (any, error) { return c.global.get(name) }
	case "env":
		return func(c *context) (any, error) {
			if v, ok := c.host.Env[name]; ok {
				return v, nil
			}
			return nil, nil
		}
	}
	p.fail("the scope %q: was $%s meant, with a colon after it?", scope, scope)
	return nil
}

// collected is the output of statements as a value; as a list always, or collapsed.
func collected(body statement, always bool) expression {
	return func(c *context) (any, error) {
		out := []any{}
		if err := body(c, &out); err != nil {
			return nil, err
		}
		if always {
			return out, nil
		}
		return collapse(out), nil
	}
}

// atSign reads what begins with an at sign: a list, a dictionary, a long text.
func (p *parser) atSign() expression {
	switch {
	case p.take("@("):
		return collected(p.statements(")"), true)
	case p.take("@{"):
		return p.hash()
	case p.take("@'\n"):
		end := strings.Index(p.s[p.at:], "\n'@")
		if end < 0 {
			p.fail("a text without its end")
		}
		v := p.s[p.at : p.at+end]
		p.at += end + len("\n'@")
		return func(*context) (any, error) { return v, nil }
	}
	p.fail("%.10q is not read here", p.s[p.at:])
	return nil
}

func (p *parser) hash() expression {
	type pair struct {
		key   string
		value expression
	}
	var all []pair
	for {
		p.blanks(true)
		for p.take(";") {
			p.blanks(true)
		}
		if p.take("}") {
			break
		}
		key := ""
		if p.peek() == '\'' {
			key = p.quoted()
		} else {
			from := p.at
			p.word(false)
			key = p.s[from:p.at]
		}
		p.blanks(false)
		if key == "" {
			p.fail("a key at %.20q", p.s[p.at:])
		}
		p.want("=")
		all = append(all, pair{key, p.pipelineValue()})
	}
	return func(c *context) (any, error) {
		h := &Hash{}
		for _, e := range all {
			v, err := e.value(c)
			if err != nil {
				return nil, err
			}
			h.Set(e.key, v)
		}
		return h, nil
	}
}

// quoted reads a text in which nothing has a meaning but two quotes.
func (p *parser) quoted() string {
	p.want("'")
	var b strings.Builder
	for p.at < len(p.s) {
		if p.take("''") {
			b.WriteByte('\'')
			continue
		}
		if p.take("'") {
			return b.String()
		}
		b.WriteByte(p.s[p.at])
		p.at++
	}
	p.fail("a text without its end")
	return ""
}

// double reads a text with variables in it.
func (p *parser) double() expression {
	p.want(`"`)
	var parts []expression
	var plain strings.Builder
	flush := func() {
		if v := plain.String(); v != "" {
			parts = append(parts, func(*context) (any, error) { return v, nil })
			plain.Reset()
		}
	}
	for !p.take(`"`) {
		switch b := p.peek(); {
		case b == 0:
			p.fail("a text without its end")
		case b == '`':
			esc := p.s[min(p.at+1, len(p.s)-1)]
			p.at += 2
			plain.WriteString(map[byte]string{'n': "\n", 'r': "\r", 't': "\t", '0': "\x00"}[esc])
			if strings.IndexByte("nrt0", esc) < 0 {
				plain.WriteByte(esc)
			}
		case b == '$' && (letter(p.s[min(p.at+1, len(p.s)-1)]) || p.s[min(p.at+1, len(p.s)-1)] == '('):
			flush()
			parts = append(parts, p.variable())
			if p.peek() == ':' && p.s[p.at-1] != ')' {
				p.fail("a colon after a variable: put it into $( )")
			}
		default:
			plain.WriteByte(b)
			p.at++
		}
	}
	flush()
	return func(c *context) (any, error) {
		var b strings.Builder
		for _, e := range parts {
			v, err := e(c)
			if err != nil {
				return nil, err
			}
			b.WriteString(Text(v))
		}
		return b.String(), nil
	}
}

package powershell

import (
	"errors"
	"fmt"
	"strings"
)

type parameter struct {
	name, typ string
	fresh     expression
}

type function struct {
	name   string
	params []parameter
	body   statement
}

type scriptBlock struct{ *function }

type returned struct{}

func (*returned) Error() string { return "return outside of a function" }

var (
	errBreak    = errors.New("break outside of a loop")
	errContinue = errors.New("continue outside of a loop")
)

// context is a scope; names are looked up in those that called it.
type context struct {
	host      *Host
	caller    *context
	global    *context
	vars      map[string]any
	functions map[string]*function // of the global one
}

func (c *context) get(name string) (any, error) {
	switch name {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	for s := c; s != nil; s = s.caller {
		if v, ok := s.vars[name]; ok {
			return v, nil
		}
	}
	return nil, &Error{"The variable '$" + name + "' cannot be retrieved because it has not been set.", "System.Management.Automation.RuntimeException", "InvalidOperation", ""}
}

// values are those of arguments that have no names.
func (c *context) values(args []argument) ([]any, error) {
	var out []any
	for _, a := range args {
		if a.value == nil {
			return nil, Errorf("a parameter -%s for a block", a.name)
		}
		v, err := a.value(c)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (c *context) scope() *context {
	return &context{host: c.host, caller: c, global: c.global, vars: map[string]any{}}
}

// finish runs a body in a scope and returns its output.
func (s *context) finish(body statement) (any, error) {
	var out []any
	err := body(s, &out)
	var back *returned
	if err != nil && !errors.As(err, &back) {
		return nil, err
	}
	return collapse(out), nil
}

func (c *context) invoke(b *scriptBlock, args []any) (any, error) {
	s := c.scope()
	for i, p := range b.params {
		s.vars[p.name] = nil
		if i < len(args) {
			s.vars[p.name] = args[i]
		}
	}
	s.vars["args"] = args[min(len(b.params), len(args)):]
	return s.finish(b.body)
}

// call runs a function or a cmdlet.
func (c *context) call(name string, args []argument) (any, error) {
	if f, ok := c.global.functions[name]; ok {
		return c.callFunction(f, args)
	}
	switch name {
	case "set-strictmode":
		return nil, nil
	case "write-output":
		v, err := c.values(args)
		return collapse(v), err
	case "invoke-expression":
		return c.evaluate(args)
	}
	cmdlet, ok := c.host.own(name)
	if !ok {
		cmdlet, ok = c.host.Cmdlet(name)
	}
	if !ok {
		return nil, &Error{fmt.Sprintf("The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program.", name),
			"System.Management.Automation.CommandNotFoundException", "ObjectNotFound", ""}
	}
	bound, err := c.bind(name, cmdlet, args)
	if err != nil {
		return nil, err
	}
	if name == "test-path" {
		if v, ok := strings.CutPrefix(strings.ToLower(Text(bound["literalpath"])), "variable:"); ok {
			_, err := c.get(v)
			return err == nil, nil
		}
	}
	out, err := cmdlet.Run(bound)
	if errors.Is(err, ErrKilled) {
		return nil, err
	}
	if err != nil {
		return nil, c.preferred(bound, err)
	}
	return collapse(out), nil
}

// preferred is an error of a cmdlet, if errors stop here.
func (c *context) preferred(bound map[string]any, err error) error {
	how := bound["erroraction"]
	if how == nil {
		how, _ = c.get("erroractionpreference")
	}
	if strings.EqualFold(Text(how), "Stop") {
		return err
	}
	return fmt.Errorf("an error that does not stop the script, which cannot know of it: %w", err)
}

// evaluate runs a text in this scope.
func (c *context) evaluate(args []argument) (any, error) {
	v, err := c.values(args)
	if err != nil || len(v) != 1 {
		return nil, errors.Join(Errorf("Invoke-Expression wants a text"), err)
	}
	body, err := parse(Text(v[0]))
	if err != nil {
		return nil, err
	}
	var out []any
	err = body(c, &out)
	return collapse(out), err
}

// bind gives a cmdlet its parameters, and refuses those that it has not.
func (c *context) bind(name string, cmdlet Cmdlet, args []argument) (map[string]any, error) {
	bound := map[string]any{}
	place := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.name == "" {
			if place >= len(cmdlet.Positional) {
				return nil, Errorf("%s: a positional parameter cannot be found that accepts an argument", name)
			}
			v, err := a.value(c)
			if err != nil {
				return nil, err
			}
			bound[strings.ToLower(cmdlet.Positional[place])] = v
			place++
			continue
		}
		param, inline := strings.CutSuffix(a.name, ":")
		if !known(cmdlet.Params, param) && param != "erroraction" {
			return nil, &Error{fmt.Sprintf("%s: A parameter cannot be found that matches parameter name '%s'.", name, param),
				"System.Management.Automation.ParameterBindingException", "InvalidArgument", ""}
		}
		switch {
		case inline:
		case known(cmdlet.Switches, param):
			bound[param] = true
			continue
		case i+1 < len(args) && args[i+1].name == "":
			i++
			a = args[i]
		default:
			return nil, Errorf("%s: missing an argument for parameter '%s'", name, param)
		}
		v, err := a.value(c)
		if err != nil {
			return nil, err
		}
		bound[param] = v
	}
	return bound, nil
}

func known(all []string, name string) bool {
	for _, k := range all {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

func (c *context) callFunction(f *function, args []argument) (any, error) {
	as := Cmdlet{}
	for _, p := range f.params {
		as.Params = append(as.Params, p.name)
		if p.typ == "switch" {
			as.Switches = append(as.Switches, p.name)
		} else {
			as.Positional = append(as.Positional, p.name)
		}
	}
	bound, err := c.bind(f.name, as, args)
	if err != nil {
		return nil, err
	}
	s := c.scope()
	for _, p := range f.params {
		v, given := bound[p.name]
		switch {
		case given:
			v, err = cast(c, p.typ, v)
		case p.fresh != nil:
			v, err = p.fresh(s)
		case p.typ == "string": // which has no null
			v = ""
		case p.typ == "int":
			v = int64(0)
		case p.typ == "switch" || p.typ == "bool":
			v = false
		}
		if err != nil {
			return nil, err
		}
		s.vars[p.name] = v
	}
	return s.finish(f.body)
}

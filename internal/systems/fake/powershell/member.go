package powershell

import (
	"fmt"
	"regexp"
	"strings"
)

func noMember(v any, name string) error {
	return &Error{fmt.Sprintf("The property '%s' cannot be found on this object (%T).", name, v),
		"System.Management.Automation.PropertyNotFoundException", "NotSpecified", ""}
}

// member is a property; strict mode has no others than there are.
func member(v any, name string) (any, error) {
	switch v := v.(type) {
	case string:
		if name == "length" {
			return int64(len([]rune(v))), nil
		}
	case []any:
		switch name {
		case "count", "length":
			return int64(len(v)), nil
		}
		out := []any{}
		for _, e := range v {
			one, err := member(e, name)
			if err != nil {
				return nil, err
			}
			emit(&out, one)
		}
		return collapse(out), nil
	case []byte:
		if name == "length" {
			return int64(len(v)), nil
		}
	case *Hash:
		if e, ok := v.Get(name); ok {
			return e, nil
		}
		if name == "count" {
			return int64(len(v.keys)), nil
		}
	case *Thing:
		if e, ok := v.Get(name); ok {
			return e, nil
		}
	}
	return nil, noMember(v, name)
}

func (c *context) method(of expression, name string, args []expression) (any, error) {
	v, err := of(c)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, a := range args {
		x, err := a(c)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	if plain := plainType(v); name == "gettype" && plain != "" {
		return Object("System.RuntimeType", "FullName", plain), nil
	}
	switch v := v.(type) {
	case string:
		return textMethod(v, name, all)
	case *Thing:
		if m, ok := v.Methods[name]; ok {
			return m(all)
		}
		if name == "gettype" {
			return Object("System.RuntimeType", "FullName", v.Type), nil
		}
		if name == "tostring" && len(all) == 0 {
			return Text(v), nil
		}
	case *Hash:
		if name == "containskey" && len(all) == 1 {
			_, ok := v.Get(Text(all[0]))
			return ok, nil
		}
	case bool, int64:
		if name == "tostring" && len(all) == 0 {
			return Text(v), nil
		}
	}
	return nil, Errorf("Method invocation failed because [%T] does not contain a method named '%s'.", v, name)
}

// plainType is the name of a type of the language itself; empty: it is none.
func plainType(v any) string {
	switch v.(type) {
	case string:
		return "System.String"
	case bool:
		return "System.Boolean"
	case int64:
		return "System.Int32" // of those that scripts ask for
	}
	return ""
}

func textMethod(s, name string, args []any) (any, error) {
	arg := ""
	if len(args) > 0 {
		arg = Text(args[0])
	}
	switch name {
	case "trim":
		return strings.TrimSpace(s), nil
	case "startswith":
		return strings.HasPrefix(s, arg), nil
	case "endswith":
		return strings.HasSuffix(s, arg), nil
	case "contains":
		return strings.Contains(s, arg), nil
	case "toupper":
		return strings.ToUpper(s), nil
	case "tolower", "tolowerinvariant":
		return strings.ToLower(s), nil
	case "replace":
		if len(args) == 2 {
			return strings.ReplaceAll(s, arg, Text(args[1])), nil
		}
	case "substring":
		at, err := number(args[0])
		if err != nil {
			return nil, err
		}
		end := int64(len(s))
		if len(args) == 2 {
			n, err := number(args[1])
			if err != nil {
				return nil, err
			}
			end = at + n
		}
		if at < 0 || end < at || end > int64(len(s)) {
			return nil, Errorf("startIndex cannot be larger than length of string.")
		}
		return s[at:end], nil
	}
	return nil, Errorf("Method invocation failed because [System.String] does not contain a method named '%s'.", name)
}

// static is a static member: those of plain types are here, others the host's.
func (c *context) static(typ, name string, args []any) (any, error) {
	switch typ + "::" + name {
	case "regex::replace":
		return c.replace(args)
	case "string::isnullorempty":
		return len(args) == 1 && Text(args[0]) == "", nil
	}
	if c.host.Static == nil {
		return nil, Errorf("unable to find type [%s]", typ)
	}
	return c.host.Static(typ, name, args)
}

// replace is [regex]::Replace(text, pattern, block).
func (c *context) replace(args []any) (any, error) {
	if len(args) != 3 {
		return nil, Errorf("[regex]::Replace with %d arguments is not read here", len(args))
	}
	b, ok := args[2].(*scriptBlock)
	re, err := regexp.Compile(Text(args[1]))
	if !ok || err != nil {
		return nil, Errorf("[regex]::Replace wants a pattern and a block: %v", err)
	}
	var bad error
	out := re.ReplaceAllStringFunc(Text(args[0]), func(s string) string {
		v, err := c.invoke(b, []any{Object("System.Text.RegularExpressions.Match", "Value", s)})
		if err != nil {
			bad = err
		}
		return Text(v)
	})
	return out, bad
}

func index(c *context, of, key expression) (any, error) {
	v, err := of(c)
	if err != nil {
		return nil, err
	}
	k, err := key(c)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *Hash:
		e, _ := v.Get(Text(k))
		return e, nil
	case *Thing:
		if v.Index != nil {
			return v.Index(k), nil
		}
	case []any:
		n, err := number(k)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			n += int64(len(v))
		}
		if n < 0 || n >= int64(len(v)) {
			return nil, &Error{"Index was outside the bounds of the array.", "System.IndexOutOfRangeException", "OperationStopped", ""}
		}
		return v[n], nil
	case string:
		n, err := number(k)
		r := []rune(v)
		if err != nil || n < 0 || n >= int64(len(r)) {
			return nil, Errorf("Index was outside the bounds of the text.")
		}
		return Char(r[n]), nil
	}
	return nil, Errorf("Cannot index into %T.", v)
}

func setIndex(c *context, of, key expression, to any) error {
	v, err := of(c)
	if err != nil {
		return err
	}
	k, err := key(c)
	if err != nil {
		return err
	}
	if h, ok := v.(*Hash); ok {
		h.Set(Text(k), to)
		return nil
	}
	return Errorf("cannot set an element of %T", v)
}

func setMember(c *context, of expression, name string, to any) error {
	v, err := of(c)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *Hash:
		v.Set(name, to)
		return nil
	case *Thing:
		if _, ok := v.Get(name); ok {
			v.Set(name, to)
			return nil
		}
	}
	return noMember(v, name)
}

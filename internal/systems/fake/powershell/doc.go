// Package powershell runs, for tests, the part of PowerShell that linerate's own scripts are
// written in, in strict mode: names that do not differ in case, output that is collected, lists of
// one that become their element, a variable, property or parameter that does not exist as an
// error. Everything that a script calls is given to it, so that a test decides what a host has. It
// refuses all else of the language. It was written from the language's documentation: that a
// script runs here does not show that a real PowerShell runs it.
package powershell

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Cmdlet is a command of the host: its named parameters in lower case, switches as true, and those
// without a name.
type Cmdlet struct {
	// Params are the names that it takes; another is an error.
	Params []string
	// Switches are those of Params that take no value.
	Switches []string
	// Positional are the names that values without a name have, in their order.
	Positional []string
	Run        func(args map[string]any) ([]any, error)
}

// Host is what a script finds.
type Host struct {
	// Cmdlet finds a command by its name in lower case.
	Cmdlet func(name string) (Cmdlet, bool)
	// Static is a static property, or with args not nil a static method, of a type; both in lower
	// case.
	Static func(typ, member string, args []any) (any, error)
	// Cast makes a value one of a type that the language itself does not know.
	Cast func(typ string, v any) (any, error)
	// Env are the variables of the environment, in lower case.
	Env map[string]string
	// Version is the major version of PowerShell, Language the mode.
	Version  string
	Language string
	Path     string // of the script's file; empty: it has none
	Out      io.Writer
	Sleep    func(time.Duration) // of Start-Sleep; nil is time.Sleep
}

// Error is what a script can catch.
type Error struct {
	Message  string
	Type     string // full name of the exception's
	Category string // of the error record
	ID       string // FullyQualifiedErrorId; empty: the category
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Errorf makes an error of the kind that most cmdlets have.
func Errorf(format string, args ...any) *Error {
	return &Error{fmt.Sprintf(format, args...), "System.Management.Automation.RuntimeException", "NotSpecified", ""}
}

// ErrSyntax is that of a text that this package does not read.
var ErrSyntax = errors.New("not a script that this interpreter reads")

// ErrKilled ends a script as a kill does: nothing catches it, and nothing is tidied up.
var ErrKilled = errors.New("killed")

type exit struct{ code int }

func (exit) Error() string { return "exit" }

// Run executes a script with its arguments and input, and returns its exit code. What it leaves
// as output is printed, each value on a line that ends as on Windows.
func Run(text string, h Host, input []any, args []string) (int, error) {
	body, err := parse(text)
	if err != nil {
		return 0, err
	}
	c := &context{host: &h, vars: map[string]any{}, functions: map[string]*function{}}
	c.global = c
	list := make([]any, 0, len(args))
	for _, a := range args {
		list = append(list, a)
	}
	c.vars["args"] = list
	c.vars["input"] = input
	c.vars["psversiontable"] = versions(h.Version)
	c.vars["executioncontext"] = Object("ExecutionContext", "SessionState", Object("SessionState", "LanguageMode", h.Language))
	for _, name := range []string{"erroractionpreference", "progresspreference", "warningpreference"} {
		c.vars[name] = "Continue"
	}
	c.vars["pscommandpath"] = h.Path
	var out []any
	err = body(c, &out)
	for _, v := range out {
		if _, werr := io.WriteString(h.Out, Text(v)+"\r\n"); werr != nil {
			return 0, werr
		}
	}
	var left exit
	var back *returned
	switch {
	case errors.As(err, &left):
		return left.code, nil
	case errors.As(err, &back), err == nil:
		return 0, nil
	}
	return 1, err
}

func versions(v string) any {
	major, _, _ := strings.Cut(v, ".")
	n, _ := number(major)
	edition := "Desktop"
	if major != "5" {
		edition = "Core"
	}
	version := Object("System.Version", "Major", n)
	version.Text = v
	return Object("Hashtable", "PSVersion", version, "PSEdition", edition)
}

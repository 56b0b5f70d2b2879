package profile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxTemplate bounds the text of a value, in bytes; the longest sysctl is far below it.
const maxTemplate = 4096

// template is a value with rules in it, word by word:
//
//	keep              the word that runs now
//	local_cpus        the CPUs near the NIC, as the kernel lists them (0-7,16-23)
//	{FORMULA}         what the formula gives, rounded up to a whole number
//	name=WORD         the part of that name, of a setting whose value has parts
//	anything else     itself
//
// "keep keep {need}" leaves the first two numbers of tcp_rmem and computes the third.
type template struct{ words []word }

type word struct {
	name    string // of a part; empty: the word goes by its position
	keep    bool
	near    bool // local_cpus
	formula *expression
	literal string
}

func parseTemplate(text string) (template, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxTemplate {
		return template{}, fmt.Errorf("value of %d bytes, want 1 to %d", len(text), maxTemplate)
	}
	var t template
	parts, err := cutWords(text)
	if err != nil {
		return t, err
	}
	for _, part := range parts {
		w, err := parseWord(part)
		if err != nil {
			return template{}, err
		}
		t.words = append(t.words, w)
	}
	return t, nil
}

// cutWords splits at white space that is not inside braces.
func cutWords(text string) ([]string, error) {
	var out []string
	start, inside := -1, false
	for i, c := range []byte(text) {
		if c < ' ' && c != '\t' || c > '~' {
			return nil, errors.New("value holds a character that is not printable ASCII")
		}
		switch {
		case c == '{' && !inside:
			inside = true
		case c == '}' && inside:
			inside = false
		case c == '{' || c == '}':
			return nil, errors.New("braces do not pair: a formula stands in {…}")
		}
		space := (c == ' ' || c == '\t') && !inside
		if space && start >= 0 {
			out, start = append(out, text[start:i]), -1
		} else if !space && start < 0 {
			start = i
		}
	}
	if inside {
		return nil, errors.New("braces do not pair: a formula stands in {…}")
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out, nil
}

func parseWord(s string) (word, error) {
	var w word
	open := strings.IndexByte(s, '{')
	if eq := strings.IndexByte(s, '='); eq > 0 && (open < 0 || eq < open) {
		w.name, s = s[:eq], s[eq+1:]
		open = strings.IndexByte(s, '{')
	}
	switch {
	case strings.HasPrefix(s, "="):
		return w, fmt.Errorf("%q: no name before =", s)
	case s == "":
		return w, fmt.Errorf("%s= has no value", w.name)
	case s == "keep" && w.name == "":
		w.keep = true
	case s == "local_cpus":
		w.near = true
	case open < 0:
		w.literal = s
	case open > 0 || !strings.HasSuffix(s, "}") || strings.IndexByte(s, '}') != len(s)-1:
		return w, fmt.Errorf("%q: a formula is a word of its own, {…} or name={…}", s)
	default:
		x, err := parseExpression(s[1 : len(s)-1])
		if err != nil {
			return w, err
		}
		w.formula = &x
	}
	return w, nil
}

// like is a value with the same parts, so that only these are read; empty for a setting without
// parts.
func (t template) like() string {
	var out []string
	for _, w := range t.words {
		switch {
		case w.name == "":
		case w.formula != nil || w.near:
			out = append(out, w.name+"=1")
		default:
			out = append(out, w.name+"="+w.literal)
		}
	}
	return strings.Join(out, " ")
}

// number is one computed number of a value, to be printed with its formula.
type number struct {
	formula  string
	wanted   int64 // by the formula
	got      int64
	capped   bool // the cap was below what was wanted
	ran      bool // what ran already was at least that
	floored  bool // the floor is more than what was wanted
	compared bool // there was a running number to compare with
}

// evaluation holds the bounds of amounts.
type evaluation struct {
	env    environment
	now    string      // the running value
	near   string      // CPUs near the NIC; empty: not known
	floor  string      // amounts that were raised go at least to this value; empty: to any
	amount bool        // no number falls below the one that runs
	cap    *expression // of computed numbers; nil: none
	capEnv environment // of the cap; nil: env
	// largest is what the setting holds at the most, whatever the cap; 0: not known.
	largest int64
}

// evaluate fills in the template.
func (t template) evaluate(e evaluation) (string, []number, error) {
	running := strings.Fields(e.now)
	var out []string
	var numbers []number
	for i, w := range t.words {
		now, ok := runningWord(running, w, i, len(t.words))
		floor, _ := runningWord(strings.Fields(e.floor), w, i, len(t.words))
		text, n, err := w.evaluate(e, now, ok, floor)
		if err != nil {
			return "", nil, err
		}
		if n != nil {
			numbers = append(numbers, *n)
		}
		if w.name != "" {
			text = w.name + "=" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, " "), numbers, nil
}

// runningWord is the running value's word in the place of w.
func runningWord(running []string, w word, i, of int) (string, bool) {
	if w.name == "" {
		if len(running) != of {
			return "", false
		}
		return running[i], true
	}
	for _, r := range running {
		if v, ok := strings.CutPrefix(r, w.name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func (w word) evaluate(e evaluation, now string, known bool, floor string) (string, *number, error) {
	if w.keep {
		if !known {
			return "", nil, fmt.Errorf("the running value %q has no word to keep here", e.now)
		}
		return now, nil, nil
	}
	if w.near {
		if e.near == "" {
			return "", nil, &UnknownError{"the CPUs near the NIC are not known", "its driver or firmware does not tell"}
		}
		return e.near, nil, nil
	}
	if w.formula == nil && !e.amount {
		return w.literal, nil, nil
	}
	runs, err := strconv.ParseInt(now, 10, 64)
	known = known && err == nil
	limits := e.env
	if e.capEnv != nil {
		limits = e.capEnv
	}
	n, err := w.wanted(withNow{e.env, runs, known}, e.cap, withNow{limits, runs, known})
	if err != nil {
		return "", nil, err
	}
	if n == nil { // a name where others have amounts
		return w.literal, nil, nil
	}
	if n.compared = known; w.formula != nil && e.largest > 0 && n.got > e.largest {
		n.got, n.capped = e.largest, true
	}
	switch {
	case e.amount && known && (n.got <= runs || w.formula != nil && float64(runs) >= nearly*float64(n.got)):
		n.got, n.ran = runs, true
	case e.amount:
		n.raise(floor)
	}
	return strconv.FormatInt(n.got, 10), n, nil
}

// nearly is the share of a computed amount from which the running value suffices: a measured
// round trip varies a little, and a loss of a few percent is below what counts as a fault.
const nearly = 0.95

// raise goes up to a floor, unless the cap has been met.
func (n *number) raise(floor string) {
	if v, err := strconv.ParseInt(floor, 10, 64); err == nil && v > n.got && !n.capped {
		n.got, n.floored = v, true
	}
}

// wanted is the number that the word requests, within the cap; nil if it is not a number.
func (w word) wanted(env environment, limit *expression, limitEnv environment) (*number, error) {
	if w.formula == nil {
		if v, err := strconv.ParseInt(w.literal, 10, 64); err == nil {
			return &number{formula: w.literal, wanted: v, got: v}, nil
		}
		return nil, nil // a word
	}
	v, err := whole(*w.formula, env)
	if err != nil {
		return nil, err
	}
	n := &number{formula: w.formula.text, wanted: v, got: v}
	if limit == nil {
		return n, nil
	}
	most, err := whole(*limit, limitEnv)
	if err != nil {
		return nil, err
	}
	if most < n.got {
		n.got, n.capped = most, true
	}
	return n, nil
}

// most bounds a computed number: no buffer, ring or queue is larger, so a larger number is an
// error in the units.
const most = 1 << 40

// whole evaluates to a whole number, rounded up except for floating-point error.
func whole(x expression, env environment) (int64, error) {
	v, err := x.value(env)
	if err != nil {
		return 0, err
	}
	if v > most {
		return 0, fmt.Errorf("formula %q gives %.3g: want at most %d", x.text, v, int64(most))
	}
	return int64(math.Ceil(v * (1 - 1e-12))), nil
}

// withNow adds the running number in this place to an environment.
type withNow struct {
	environment
	now   int64
	known bool
}

func (e withNow) quantity(name string) (float64, error) {
	if name != "now" {
		return e.environment.quantity(name)
	}
	if !e.known {
		return 0, &UnknownError{"the running value", "it is no number, or could not be read"}
	}
	return float64(e.now), nil
}

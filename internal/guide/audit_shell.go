package guide

import (
	"slices"
	"strings"
)

// dialect is the shell language of a script.
type dialect bool

const (
	posix   dialect = false // backslash escapes and joins lines
	windows dialect = true  // backslash is an ordinary character
)

// parseShell finds the commands of a script that set something. It interprets no variables, loops
// or conditions, and skips what it does not understand.
func parseShell(text string, d dialect) []assignment {
	lines := map[int]string{}
	if d == posix {
		lines = joined(text)
	} else {
		n := 0
		for line := range strings.Lines(text) {
			n++
			lines[n] = strings.TrimRight(line, "\r\n")
		}
	}
	var out []assignment
	for n, line := range lines {
		var before []string
		for _, words := range commands(line, d) {
			for _, a := range command(words, before) {
				a.line = n
				out = append(out, a)
			}
			before = words
		}
	}
	slices.SortStableFunc(out, func(a, b assignment) int { return a.line - b.line })
	return out
}

// splitter splits a line into commands, and each command into words.
type splitter struct {
	out   [][]string
	words []string
	word  strings.Builder
	in    bool // a word has begun; it may be empty so far
}

func (s *splitter) endWord() {
	if s.in {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.in = false
}

func (s *splitter) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.out = append(s.out, s.words)
	}
	s.words = nil
}

func (s *splitter) add(r rune) {
	s.word.WriteRune(r)
	s.in = true
}

// redirect turns ">" and ">>" into one word ">".
func (s *splitter) redirect() {
	s.endWord()
	if len(s.words) == 0 || s.words[len(s.words)-1] != ">" {
		s.words = append(s.words, ">")
	}
}

// commands splits a line. A "#" at the start of a word begins a comment.
func commands(line string, d dialect) [][]string {
	var s splitter
	quote, escaped := rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			s.add(r)
			escaped = false
		case r == '\\' && d == posix && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			s.add(r)
		case r == '"' || r == '\'':
			quote, s.in = r, true
		case r == ' ' || r == '\t':
			s.endWord()
		case r == '#' && !s.in:
			s.endCommand()
			return s.out
		case strings.ContainsRune(";&|()", r):
			s.endCommand()
		case r == '>':
			s.redirect()
		default:
			s.add(r)
		}
	}
	s.endCommand()
	return s.out
}

// command parses one command. before is the command on the left of the pipe.
func command(words, before []string) []assignment {
	for len(words) > 0 && lead(words[0]) {
		words = words[1:]
	}
	if i := slices.Index(words, ">"); i >= 0 && i+1 < len(words) {
		if name := words[0]; name == "echo" || name == "printf" {
			return written(echoed(words[:i]), words[i+1])
		}
		words = words[:i]
	}
	if len(words) < 2 {
		return nil
	}
	name, args := strings.ToLower(base(words[0])), words[1:]
	switch {
	case name == "tee" && len(before) > 0 && before[0] == "echo":
		return written(echoed(before), args[len(args)-1])
	case strings.HasPrefix(name, "set_irq_affinity"):
		return []assignment{{id: "linux.irq.affinity", name: name, value: canonical(words[0] + " " + strings.Join(args, " ")), device: args[len(args)-1]}}
	}
	if read, ok := commandReaders()[strings.TrimSuffix(name, ".exe")]; ok {
		return read(args)
	}
	return nil
}

// lead tells whether a word only precedes the actual command, as sudo does.
func lead(w string) bool {
	if slices.Contains([]string{"sudo", "exec", "nohup", "if", "then", "else", "do", "!", "time", "{", "@", "powershell", "powershell.exe", "-Command", "-NoProfile"}, w) {
		return true
	}
	key, _, ok := strings.Cut(w, "=")
	return ok && key != "" && strings.ToUpper(key) == key && !strings.ContainsAny(key, "/.-")
}

// echoed is what an echo prints.
func echoed(words []string) string {
	var out []string
	for _, w := range words[1:] {
		if w != "-n" && w != "-e" {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// written is the assignment that a write to a file of /proc or /sys makes; writes to other
// files set nothing.
func written(value, file string) []assignment {
	parts := strings.Split(strings.Trim(file, "/"), "/")
	a := assignment{name: base(file), value: value}
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	switch {
	case value == "" || a.name == "":
		return nil
	case strings.HasPrefix(file, "/proc/sys/"):
		a.name = strings.Join(parts[2:], ".")
		a.id = "linux.sysctl." + a.name
	case strings.HasPrefix(file, "/proc/irq/"):
		a.id, a.device = "linux.irq.affinity", "irq "+at(2)
	case file == "/proc/fs/nfsd/threads":
		a.id = "linux.nfsd.threads"
	case strings.HasPrefix(file, "/sys/class/net/"):
		a.id, a.device = "linux.queue."+a.name, at(3)
		if a.name == "tx_queue_len" {
			a.id, a.name = "linux.link.txqueuelen", "txqueuelen"
		}
	case strings.HasPrefix(file, "/sys/block/"):
		a.id, a.device = "linux.block."+a.name, at(2)
	case strings.HasPrefix(file, "/sys/class/bdi/"):
		a.id, a.device = "linux.bdi."+a.name, at(3)
	case strings.HasPrefix(file, "/sys/module/") && len(parts) == 5:
		a = moduleOption(parts[2], parts[4], value)
	case a.name == "scaling_governor":
		a.id = "linux.cpu.governor"
	case file == "/sys/devices/system/cpu/smt/control":
		a.id, a.name = "linux.cpu.smt", "smt"
	default:
		return nil
	}
	return []assignment{a}
}

package setter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	sambaPrefix = "linux.samba."
	sambaFile   = "/etc/samba/smb.conf"
	sambaUnset  = "unset"
)

// ConfigTree is a Tree whose files can be replaced as a whole.
type ConfigTree interface {
	Tree
	// ReplaceFile replaces an existing file in one step and keeps its owner and mode.
	ReplaceFile(path string, b []byte) error
}

// Samba sets options in the [global] section of smb.conf and has a running smbd reload it. It
// edits one line in place and keeps every other byte, so that restoring the value restores the
// file: a missing option is added at the end of the section below a mark, a removed one becomes a
// marked comment. (The registry of "net conf" counts only if smb.conf includes it.) If smb.conf
// takes options from the registry or from an included file, the line might not be the one that
// counts: then nothing is read or written.
type Samba struct {
	Tree ConfigTree
	Run  Runner
}

// sambaOptions are the options of each setting by part: the name in smb.conf and the accepted
// words, nil for a number or (socket options) a list.
type sambaOption struct {
	name  string
	words []string
}

func sambaSettings() map[string]map[string]sambaOption {
	yesNo := []string{"yes", "no", "true", "false", "1", "0"}
	return map[string]map[string]sambaOption{
		"multichannel":   {"": {"server multi channel support", yesNo}},
		"socket_options": {"": {"socket options", nil}},
		"aio_sendfile":   {"aio_read_size": {"aio read size", nil}, "aio_write_size": {"aio write size", nil}, "use_sendfile": {"use sendfile", yesNo}},
		"signing": {"server_signing": {"server signing", []string{"default", "auto", "mandatory", "disabled"}},
			"smb_encrypt": {"smb encrypt", []string{"default", "off", "if_required", "desired", "required"}}},
	}
}

func (Samba) Owns(setting string) bool {
	_, ok := sambaSettings()[strings.TrimPrefix(setting, sambaPrefix)]
	return ok && strings.HasPrefix(setting, sambaPrefix)
}

// Canonical implements Setter. Parts are sorted; "unset" is smbd's default.
func (s Samba) Canonical(at Place, value string) (string, error) {
	want, err := s.parse(at, value)
	return formatWords(want), err
}

func (s Samba) parse(at Place, value string) (map[string]string, error) {
	known, ok := sambaSettings()[strings.TrimPrefix(at.Setting, sambaPrefix)]
	if !ok || !s.Owns(at.Setting) || at.Target != "" {
		return nil, fmt.Errorf("samba option %s: want linux.samba.%s, and no device: %w", at, strings.Join(slices.Sorted(maps.Keys(sambaSettings())), ", "), ErrValue)
	}
	words, err := fields(at, value)
	if err != nil {
		return nil, err
	}
	if single, ok := known[""]; ok {
		v, err := single.check(at, strings.Join(words, " "))
		return map[string]string{"": v}, err
	}
	return namedWords(at, value, words, known)
}

func (o sambaOption) check(at Place, v string) (string, error) {
	if v == sambaUnset {
		return v, nil
	}
	switch {
	case o.words != nil:
		// smbd ignores case, but the file must be restored exactly.
		if slices.Contains(o.words, strings.ToLower(v)) {
			return v, nil
		}
		return "", fmt.Errorf("%s of %s: %q: want %s or unset: %w", o.name, at, v, strings.Join(o.words, ", "), ErrValue)
	case o.name == "socket options":
		const chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_= "
		if v == "" || strings.Trim(v, chars) != "" {
			return "", fmt.Errorf("%s of %s: %q: want words such as TCP_NODELAY, or unset: %w", o.name, at, v, ErrValue)
		}
		return v, nil
	}
	_, err := numberIn(at, o.name, v, limits{0, 1<<31 - 1, false})
	return v, err
}

// Read implements Setter. An empty like is all parts.
func (s Samba) Read(_ context.Context, at Place, like string) (string, error) {
	known := sambaSettings()[strings.TrimPrefix(at.Setting, sambaPrefix)]
	if strings.TrimSpace(like) == "" {
		all := map[string]string{}
		for part := range known {
			all[part] = sambaUnset
		}
		like = formatWords(all)
	}
	want, err := s.parse(at, like)
	if err != nil {
		return "", err
	}
	lines, err := s.lines(at)
	if err != nil {
		return "", err
	}
	for part := range want {
		raw := sambaUnset
		if i := findOption(lines, known[part].name); i >= 0 {
			_, raw, _ = strings.Cut(lines[i], "=")
		}
		if want[part], err = known[part].check(at, strings.Join(strings.Fields(raw), " ")); err != nil {
			return "", fmt.Errorf("read %s: %w", at, err)
		}
	}
	return formatWords(want), nil
}

// lines reads smb.conf, with the line ends.
func (s Samba) lines(at Place) ([]string, error) {
	b, err := s.Tree.ReadFile(sambaFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	lines := slices.Collect(strings.Lines(string(b)))
	begin, end := globalSection(lines)
	for _, l := range lines[begin:end] {
		name, v, _ := strings.Cut(l, "=")
		switch name = optionName(name); {
		case strings.HasSuffix(strings.TrimSpace(l), `\`):
			return nil, fmt.Errorf("read %s: %s has a line that goes on in the next (%q), which linerate does not edit: %w", at, sambaFile, strings.TrimSpace(l), ErrUnsupported)
		case name == "include" || name == "copy" || name == "configbackend" && strings.TrimSpace(v) != "file":
			return nil, fmt.Errorf("read %s: %s takes options from elsewhere (%q), which may count more than its own: set it there: %w", at, sambaFile, strings.TrimSpace(l), ErrUnsupported)
		}
	}
	for _, o := range sambaSettings()[strings.TrimPrefix(at.Setting, sambaPrefix)] {
		if n := countOption(lines, o.name); n > 1 {
			return nil, fmt.Errorf("read %s: %q stands %d times in %s, and without the last of them another counts: take the others out first: %w", at, o.name, n, sambaFile, ErrUnsupported)
		}
	}
	return lines, nil
}

// countOption is how often an option stands in any [global], all of which smbd joins.
func countOption(lines []string, name string) (n int) {
	inside := true
	for _, l := range lines {
		if s := strings.ToLower(strings.TrimSpace(l)); strings.HasPrefix(s, "[") {
			inside = s == "[global]"
		}
		if key, _, ok := strings.Cut(l, "="); ok && inside && optionName(key) == optionName(name) {
			n++
		}
	}
	return n
}

// optionName normalises a name as smbd compares it: case and blanks do not count. A comment has
// none.
func optionName(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[:1], "#;[") {
		return ""
	}
	return strings.ToLower(strings.Join(strings.Fields(s), ""))
}

// globalSection is the range of [global], which includes what precedes any section. smbd joins
// several; the last one counts.
func globalSection(lines []string) (begin, end int) {
	inside := true
	for i, l := range lines {
		name := strings.ToLower(strings.TrimSpace(l))
		if !strings.HasPrefix(name, "[") {
			if inside {
				end = i + 1
			}
			continue
		}
		if inside = name == "[global]"; inside {
			begin, end = i+1, i+1
		}
	}
	return begin, end
}

// findOption is the last line of [global] with an option, or -1.
func findOption(lines []string, name string) int {
	begin, end := globalSection(lines)
	for i := end - 1; i >= begin; i-- {
		n, _, ok := strings.Cut(lines[i], "=")
		if ok && optionName(n) == optionName(name) {
			return i
		}
	}
	return -1
}

// Marks of linerate in smb.conf: above an added line, and before a removed one.
const (
	addedMark = "# added by linerate:"
	takenMark = "#taken out by linerate: "
)

// setOption changes one option of [global] and no other byte; restoring the old value restores
// the text.
func setOption(lines []string, name, value string) []string {
	at := findOption(lines, name)
	switch {
	case at >= 0 && value != sambaUnset:
		head, tail, _ := strings.Cut(lines[at], "=")
		lead := tail[:len(tail)-len(strings.TrimLeft(tail, " \t"))]
		end := tail[len(strings.TrimRight(tail, " \t\r\n")):]
		return slices.Replace(slices.Clone(lines), at, at+1, head+"="+lead+value+end)
	case at > 0 && strings.TrimSpace(lines[at-1]) == addedMark:
		return slices.Delete(slices.Clone(lines), at-1, at+1)
	case at >= 0:
		return slices.Replace(slices.Clone(lines), at, at+1, takenMark+lines[at])
	case value == sambaUnset:
		return lines
	}
	begin, end := globalSection(lines)
	for i := end - 1; i >= begin; i-- {
		old, ok := strings.CutPrefix(lines[i], takenMark)
		if !ok || findOption([]string{old}, name) != 0 {
			continue
		}
		// Another value would be lost when it is taken out again.
		if _, v, _ := strings.Cut(old, "="); strings.Join(strings.Fields(v), " ") == value {
			return slices.Replace(slices.Clone(lines), i, i+1, old)
		}
	}
	for end > begin && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	return slices.Insert(slices.Clone(lines), end, addedMark+"\n", "\t"+name+" = "+value+"\n")
}

func (s Samba) Write(ctx context.Context, at Place, value string) error {
	want, err := s.parse(at, value)
	if err != nil {
		return err
	}
	before, err := s.lines(at)
	if err != nil {
		return err
	}
	known, lines := sambaSettings()[strings.TrimPrefix(at.Setting, sambaPrefix)], before
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		return fmt.Errorf("write %q to %s: the last line of %s has no end: add one first: %w", value, at, sambaFile, ErrUnsupported)
	}
	for _, part := range slices.Sorted(maps.Keys(want)) {
		if i := findOption(lines, known[part].name); i >= 0 {
			_, now, _ := strings.Cut(lines[i], "=")
			if c, err := known[part].check(at, strings.Join(strings.Fields(now), " ")); err == nil && c == want[part] {
				continue // in the user's own spelling
			}
		}
		lines = setOption(lines, known[part].name, want[part])
	}
	if slices.Equal(lines, before) {
		return nil
	}
	if err := s.Tree.ReplaceFile(sambaFile, []byte(strings.Join(lines, ""))); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return s.reload(ctx, at)
}

// reload makes a running smbd read smb.conf; otherwise smbd reads it when it starts.
func (s Samba) reload(ctx context.Context, at Place) error {
	pids, err := numbered(s.Tree, "/proc", "")
	if err != nil {
		return fmt.Errorf("reload after writing %s: %w", at, err)
	}
	runs := slices.ContainsFunc(pids, func(pid string) bool {
		comm, err := s.Tree.ReadFile("/proc/" + pid + "/comm")
		return err == nil && strings.TrimSpace(string(comm)) == "smbd"
	})
	if !runs {
		return nil
	}
	if _, err := s.Run(ctx, "smbcontrol", "smbd", "reload-config"); err != nil {
		return fmt.Errorf("%s is written, but smbd did not read it: %w", at, err)
	}
	return nil
}

func (s Samba) Shell(at Place, like string) (Shell, error) {
	want, err := s.parse(at, like)
	if err != nil {
		return Shell{}, err
	}
	known := sambaSettings()[strings.TrimPrefix(at.Setting, sambaPrefix)]
	file := Quote(s.Tree.Path(sambaFile))
	var read, write []string
	for _, part := range slices.Sorted(maps.Keys(want)) {
		label, pick := "", `new=$value`
		if part != "" {
			label, pick = part+"=", `new=; for word in $value; do case "$word" in `+part+`=*) new=${word#*=} ;; esac; done`
		}
		name := strings.ReplaceAll(known[part].name, " ", "")
		read = append(read, `now=$(awk -v want=`+name+" "+Quote(sambaReadAwk)+" "+file+`) || exit 1; line="$line `+label+`$now"`)
		write = append(write, pick+`; if [ -n "$new" ]; then new=$new awk -v want=`+name+` -v title=`+Quote(known[part].name)+" "+Quote(sambaWriteAwk)+" "+file+" "+file+" > "+file+".linerate && cat "+file+".linerate > "+file+" && rm "+file+".linerate; fi")
	}
	return Shell{
		Read:     "line=; " + strings.Join(read, "; ") + `; echo "${line# }"`,
		Write:    strings.Join(write, " && ") + " && { pidof smbd >/dev/null || exit 0; smbcontrol smbd reload-config; }",
		Programs: []string{"awk", "pidof"},
	}, nil
}

// sambaReadAwk prints the last value of the option want in the last [global], in canonical form.
const sambaReadAwk = sambaAwkNames + `
BEGIN { inside = 1 }
{
	text = $0; gsub(/^[ \t]+|[ \t\r]+$/, "", text)
	if (text ~ /^\[/) { inside = tolower(text) == "[global]"; if (inside) now = ""; next }
	if (inside && name(text) == want) {
		now = substr(text, index(text, "=") + 1)
		gsub(/[ \t]+/, " ", now); gsub(/^ | $/, "", now)
	}
}
END { print now == "" ? "unset" : now }`

// sambaAwkNames normalises an option's name to lower case without blanks; empty for a line
// without an option.
const sambaAwkNames = `
function name(s,   n) {
	sub(/^[ \t]+/, "", s)
	if (s ~ /^[#;[]/ || !index(s, "=")) return ""
	n = tolower(substr(s, 1, index(s, "=") - 1)); gsub(/[ \t]/, "", n)
	return n
}`

// sambaWriteAwk is setOption in awk; it reads the file twice.
const sambaWriteAwk = sambaAwkNames + `
function assign(s,   head, tail) {
	match(s, /=[ \t]*/); head = substr(s, 1, RSTART + RLENGTH - 1)
	match(s, /[ \t\r]*$/); tail = substr(s, RSTART)
	return head new tail
}
function amount(s) {
	s = substr(s, index(s, "=") + 1)
	gsub(/[ \t\r]+/, " ", s); gsub(/^ | $/, "", s)
	return s
}
BEGIN { inside = 1; new = ENVIRON["new"]; added = "` + addedMark + `"; taken = "` + takenMark + `" }
NR == FNR {
	text = $0; gsub(/^[ \t]+|[ \t\r]+$/, "", text)
	if (text ~ /^\[/) { inside = tolower(text) == "[global]"; if (inside) { last = FNR; option = kept = 0 }; next }
	if (!inside) next
	if (text != "") last = FNR
	if (name($0) == want) { option = FNR; ours = before == added }
	else if (index($0, taken) == 1 && name(substr($0, length(taken) + 1)) == want && amount($0) == new) kept = FNR
	before = text
	next
}
FNR == 1 && !last && !option && new != "unset" { print added; print "\t" title " = " new }
option && new == "unset" && ours && (FNR == option || FNR == option - 1) { next }
option && FNR == option { print (new == "unset" ? taken $0 : assign($0)); next }
!option && kept == FNR && new != "unset" { print substr($0, length(taken) + 1); next }
{ print }
!option && !kept && FNR == last && new != "unset" { print added; print "\t" title " = " new }
END { if (!NR && new != "unset") { print added; print "\t" title " = " new } }`

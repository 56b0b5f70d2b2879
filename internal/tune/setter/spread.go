package setter

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// spread is a setting that consists of several files, one for each member: a frequency policy, an
// interrupt vector, a queue. Its value is one word if all members have the same, else
// "MEMBER=WORD MEMBER=WORD" for all of them. Mechanisms build on it; it owns no id of its own.
type spread struct {
	tree Tree
	// check refuses a place that does not belong to the mechanism.
	check func(at Place) error
	// word is the canonical form of one member's value.
	word func(at Place, s string) (string, error)
	// found is the value in a file's text, in canonical form.
	found func(text string) string
	// stored, if not nil, converts a value to the text of the file, and store does the same in
	// shell, on $new.
	stored func(value string) string
	store  string // empty: as it is
	// members finds the present files, in order.
	members func(at Place) ([]member, error)
	// list is a shell command that prints "MEMBER FILE" lines, in that order.
	list func(at Place) (string, error)
	// filter is found in shell, with the file as standard input.
	filter string
	// programs are those that list calls besides coreutils.
	programs []string
}

type member struct{ name, file string }

func (s spread) canonical(at Place, value string) (string, error) {
	if err := s.check(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		return s.word(at, words[0])
	}
	parts := map[string]string{}
	values := map[string]bool{}
	for _, w := range words {
		name, v, ok := strings.Cut(w, "=")
		_, twice := parts[name]
		if !ok || name == "" || twice || strings.Trim(name, memberChars) != "" {
			return "", fmt.Errorf("value %q of %s: %q: want one value for all, or MEMBER=VALUE for each: %w", value, at, w, ErrValue)
		}
		if parts[name], err = s.word(at, v); err != nil {
			return "", err
		}
		values[parts[name]] = true
	}
	if len(values) == 1 {
		return "", fmt.Errorf("value %q of %s: what all have is written once, without their names: %w", value, at, ErrValue)
	}
	return formatMembers(parts), nil
}

const memberChars = "abcdefghijklmnopqrstuvwxyz0123456789-"

// formatMembers orders by the number at the end of a name.
func formatMembers(parts map[string]string) string {
	names := make([]string, 0, len(parts))
	for n := range parts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) { // the names of a place differ in their number alone
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var words []string
	for _, n := range names {
		words = append(words, n+"="+parts[n])
	}
	return strings.Join(words, " ")
}

func (s spread) read(at Place) (string, error) {
	now, _, err := s.now(at)
	if err != nil {
		return "", err
	}
	first, same := "", true
	for _, v := range now {
		same = same && (first == "" || v == first)
		first = v
	}
	if same {
		return first, nil
	}
	return formatMembers(now), nil
}

// now reads every member.
func (s spread) now(at Place) (map[string]string, []member, error) {
	if err := s.check(at); err != nil {
		return nil, nil, err
	}
	all, err := s.members(at)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", at, err)
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("read %s: this host has none: %w", at, ErrUnsupported)
	}
	now := map[string]string{}
	for _, m := range all {
		b, err := s.tree.ReadFile(m.file)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", at, err)
		}
		if now[m.name], err = s.word(at, s.found(string(b))); err != nil {
			return nil, nil, fmt.Errorf("read %s: %s: %w", at, m.file, err)
		}
	}
	return now, all, nil
}

// write changes only the members that differ, since some kernels refuse even the same value (of a
// managed interrupt).
func (s spread) write(at Place, value string) error {
	value, err := s.canonical(at, value)
	if err != nil {
		return err
	}
	now, all, err := s.now(at)
	if err != nil {
		return err
	}
	want, err := assign(at, value, all)
	if err != nil {
		return err
	}
	for _, m := range all {
		if want[m.name] == now[m.name] {
			continue
		}
		text := want[m.name]
		if s.stored != nil {
			text = s.stored(text)
		}
		if err := s.tree.WriteFile(m.file, []byte(text+"\n")); err != nil {
			return fmt.Errorf("write %q to %s: %w", value, at, err)
		}
	}
	return nil
}

// assign gives each member its value; a list must name exactly the present members.
func assign(at Place, value string, all []member) (map[string]string, error) {
	want := map[string]string{}
	if !strings.Contains(value, "=") {
		for _, m := range all {
			want[m.name] = value
		}
		return want, nil
	}
	for w := range strings.FieldsSeq(value) {
		name, v, _ := strings.Cut(w, "=")
		want[name] = v
	}
	var have []string
	for _, m := range all {
		have = append(have, m.name)
	}
	if len(want) != len(all) || slices.ContainsFunc(have, func(n string) bool { return want[n] == "" }) {
		return nil, fmt.Errorf("value %q of %s: want each of %s: %w", value, at, strings.Join(have, ", "), ErrValue)
	}
	return want, nil
}

func (s spread) shell(at Place) (Shell, error) {
	if err := s.check(at); err != nil {
		return Shell{}, err
	}
	list, err := s.list(at)
	if err != nil {
		return Shell{}, err
	}
	if s.store == "" {
		s.store = ":"
	}
	return Shell{
		Programs: s.programs,
		Read: "{ " + list + "; } | { all=; one=; differ=; while read -r name file; do now=$(" + s.filter + ` < "$file") && [ -n "$now" ] || exit 1; ` +
			`[ -n "$all" ] && [ "$now" != "$one" ] && differ=1; one=$now; all="$all $name=$now"; done; [ -n "$all" ] || exit 1; ` +
			`if [ -n "$differ" ]; then echo "${all# }"; else echo "$one"; fi; }`,
		Write: "{ " + list + "; } | while read -r name file; do " +
			`case "$value" in *=*) new=; for word in $value; do case "$word" in "$name"=*) new=${word#*=} ;; esac; done ;; *) new=$value ;; esac; ` +
			`[ -n "$new" ] || exit 1; now=$(` + s.filter + ` < "$file"); [ "$now" = "$new" ] || { ` + s.store + `; printf '%s\n' "$new" > "$file"; } || exit 1; done`,
	}, nil
}

// numbered returns the entries of a directory that are a prefix and a number, ordered by number.
func numbered(tree kernel.Files, dir, prefix string) ([]string, error) {
	names, err := tree.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		digits, ok := strings.CutPrefix(n, prefix)
		if ok && digits != "" && len(digits) < 10 && strings.Trim(digits, "0123456789") == "" {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return out, nil
}

// listNumbered is numbered in shell, for files of one name below each entry. dir is already
// quoted for the shell.
func listNumbered(dir, prefix, file string) string {
	key := fmt.Sprintf("-k1.%dn", len(prefix)+1)
	return "dir=" + dir + ` && ls "$dir" | while read -r name; do case "$name" in ` + prefix + `*[!0-9]*) ;; ` + prefix + `?*) echo "$name" ;; esac; done` +
		` | sort ` + key + ` | while read -r name; do echo "$name $dir/$name/` + file + `"; done`
}

// membersIn are the members of listNumbered.
func membersIn(tree kernel.Files, dir, prefix, file string) ([]member, error) {
	names, err := numbered(tree, dir, prefix)
	if err != nil {
		return nil, err
	}
	var out []member
	for _, n := range names {
		out = append(out, member{n, path.Join(dir, n, file)})
	}
	return out, nil
}

// trimmed is the found of a file that holds only the word; trimmedShell is the filter.
func trimmed(text string) string { return strings.TrimSpace(text) }

const trimmedShell = "cat"

// bracketed is the found of a file that offers a choice: "[none] mq-deadline".
func bracketed(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(rest, "]")
	}
	return strings.TrimSpace(text)
}

const bracketedShell = `{ read -r word; case "$word" in *"["*"]"*) word=${word##*"["}; word=${word%%"]"*} ;; esac; echo "$word"; }`

// spreads is a Setter made of spread: one for each id that it owns.
type spreads struct {
	owns func(setting string) bool
	of   func(at Place) spread
}

func (s spreads) Owns(setting string) bool { return s.owns(setting) }

func (s spreads) Canonical(at Place, value string) (string, error) {
	return s.of(at).canonical(at, value)
}

// Read implements Setter. A value covers all members, so like does not matter.
func (s spreads) Read(_ context.Context, at Place, _ string) (string, error) {
	return s.of(at).read(at)
}

func (s spreads) Write(_ context.Context, at Place, value string) error {
	return s.of(at).write(at, value)
}

func (s spreads) Shell(at Place, _ string) (Shell, error) { return s.of(at).shell(at) }

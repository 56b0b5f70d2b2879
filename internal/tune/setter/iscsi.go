package setter

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// iscsiPrefix is the prefix of this mechanism's ids, iscsiTarget of its targets: a target and the
// portal where it was discovered, "iscsi:iqn.2004-01.org.example:disk,10.0.0.5:3260".
const (
	iscsiPrefix = "linux.iscsi."
	iscsiTarget = "iscsi:"
)

// ISCSI sets entries of open-iscsi's node records of a target, by iscsiadm: the records are its
// own database, with a lock of its own. A value is a list "first=262144 max=16776192" of named
// parts, or one word if the setting has only one. A record takes effect at the next login;
// linerate never logs a session out.
type ISCSI struct{ Run Runner }

// iscsiPart is one entry of a record: its name there, and its values: a number, or one of words.
type iscsiPart struct {
	name  string
	words []string
	limits
}

// iscsiSettings are the parts of each setting; a single part has no name. Ranges are those of
// iscsid.conf and RFC 7143 section 13.
func iscsiSettings() map[string]map[string]iscsiPart {
	number := func(name string, low, high int64) iscsiPart { return iscsiPart{name, nil, limits{low, high, false}} }
	yesNo := []string{"Yes", "No"}
	digest := []string{"None", "CRC32C", "CRC32C,None", "None,CRC32C"}
	const length = 1<<24 - 1
	return map[string]map[string]iscsiPart{
		"max_recv_segment": {"": number("node.conn[0].iscsi.MaxRecvDataSegmentLength", 512, length)},
		"bursts": {
			"first": number("node.session.iscsi.FirstBurstLength", 512, length), "max": number("node.session.iscsi.MaxBurstLength", 512, length),
			"initial_r2t": {name: "node.session.iscsi.InitialR2T", words: yesNo}, "immediate_data": {name: "node.session.iscsi.ImmediateData", words: yesNo},
		},
		"queue_depth": {"lun": number("node.session.queue_depth", 1, 1024), "session": number("node.session.cmds_max", 2, 2048)},
		"sessions":    {"": number("node.session.nr_sessions", 1, 32)},
		"timeouts": {
			"replacement": number("node.session.timeo.replacement_timeout", -1, 86400),
			"ping_every":  number("node.conn[0].timeo.noop_out_interval", 0, 86400), "ping_answer": number("node.conn[0].timeo.noop_out_timeout", 0, 86400),
		},
		"digests": {"header": {name: "node.conn[0].iscsi.HeaderDigest", words: digest}, "data": {name: "node.conn[0].iscsi.DataDigest", words: digest}},
	}
}

func (ISCSI) Owns(setting string) bool {
	_, ok := iscsiSettings()[strings.TrimPrefix(setting, iscsiPrefix)]
	return ok && strings.HasPrefix(setting, iscsiPrefix)
}

func (i ISCSI) Canonical(at Place, value string) (string, error) {
	want, err := i.parse(at, value)
	return formatWords(want), err
}

func (i ISCSI) parse(at Place, value string) (map[string]string, error) {
	if _, _, err := i.place(at); err != nil {
		return nil, err
	}
	words, err := fields(at, value)
	if err != nil {
		return nil, err
	}
	known := iscsiSettings()[strings.TrimPrefix(at.Setting, iscsiPrefix)]
	out, err := namedWords(at, value, words, known)
	if err != nil {
		return nil, err
	}
	return out, bursts(at, out)
}

func (p iscsiPart) check(at Place, v string) (string, error) {
	if p.words == nil {
		n, err := numberIn(at, p.name, v, p.limits)
		if err == nil && p.name == "node.session.cmds_max" && n&(n-1) != 0 {
			err = fmt.Errorf("%s of %s: %q is no power of two: %w", p.name, at, v, ErrValue)
		}
		return v, err
	}
	if !slices.Contains(p.words, v) {
		return "", fmt.Errorf("%s of %s: %q: want one of %s: %w", p.name, at, v, strings.Join(p.words, " "), ErrValue)
	}
	return v, nil
}

// bursts refuses a first burst beyond the largest (RFC 7143 section 13.14).
func bursts(at Place, v map[string]string) error {
	first, most := v["first"], v["max"]
	if first != "" && most != "" && (len(first) > len(most) || len(first) == len(most) && first > most) {
		return fmt.Errorf("value of %s: first=%s is more than max=%s: %w", at, first, most, ErrValue)
	}
	return nil
}

// formatWords is the canonical form, sorted; a part without a name stands by itself.
func formatWords(parts map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		word := parts[name]
		if name != "" {
			word = name + "=" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (i ISCSI) place(at Place) (target, portal string, err error) {
	rest, ok := strings.CutPrefix(at.Target, iscsiTarget)
	target, portal, _ = strings.Cut(rest, ",")
	p, portErr := netip.ParseAddrPort(portal)
	scheme, name, _ := strings.Cut(target, ".")
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:_"
	if !i.Owns(at.Setting) || !ok || portErr != nil || p.String() != portal || p.Port() == 0 || !slices.Contains([]string{"iqn", "eui", "naa"}, scheme) ||
		name == "" || len(target) > 223 || strings.Trim(target, chars) != "" || strings.Contains(target, "..") {
		return "", "", fmt.Errorf("iSCSI node %s: want linux.iscsi.%s, of iscsi:TARGET,ADDRESS:PORT: %w", at, strings.Join(slices.Sorted(maps.Keys(iscsiSettings())), ", "), ErrValue)
	}
	return target, portal, nil
}

// Read implements Setter. An empty like is all parts.
func (i ISCSI) Read(ctx context.Context, at Place, like string) (string, error) {
	target, portal, err := i.place(at)
	if err != nil {
		return "", err
	}
	known := iscsiSettings()[strings.TrimPrefix(at.Setting, iscsiPrefix)]
	want := map[string]string{}
	for name := range known {
		want[name] = ""
	}
	if strings.TrimSpace(like) != "" {
		if want, err = i.parse(at, like); err != nil {
			return "", err
		}
	}
	// -S would print passwords: without it iscsiadm masks them.
	out, err := i.Run(ctx, "iscsiadm", "-m", "node", "-T", target, "-p", portal)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	for name := range want {
		if want[name], err = recordValue(out, known[name].name); err == nil {
			want[name], err = known[name].check(at, want[name])
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", at, err)
		}
	}
	return formatWords(want), nil
}

// recordValue finds an entry in the output of iscsiadm. A node with several interfaces has
// several records, which must agree.
func recordValue(records []byte, name string) (string, error) {
	found := map[string]bool{}
	for line := range strings.Lines(string(records)) {
		if k, v, ok := strings.Cut(line, " = "); ok && strings.TrimSpace(k) == name {
			found[strings.TrimSpace(v)] = true
		}
	}
	all := slices.Sorted(maps.Keys(found))
	switch len(all) {
	case 0:
		return "", fmt.Errorf("the record has no %s: %w", name, ErrUnsupported)
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("its interfaces have different %s: %s: make them the same first: %w", name, strings.Join(all, ", "), ErrSideEffect)
}

// Write implements Setter. It writes the parts that differ, one after the other.
func (i ISCSI) Write(ctx context.Context, at Place, value string) error {
	want, err := i.parse(at, value)
	if err != nil {
		return err
	}
	now, err := i.Read(ctx, at, value)
	if err != nil {
		return err
	}
	have, err := i.parse(at, now)
	if err != nil {
		return err
	}
	target, portal, err := i.place(at)
	if err != nil {
		return err
	}
	known := iscsiSettings()[strings.TrimPrefix(at.Setting, iscsiPrefix)]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] == want[name] {
			continue
		}
		if _, err := i.Run(ctx, "iscsiadm", "-m", "node", "-T", target, "-p", portal, "-o", "update", "-n", known[name].name, "-v", want[name]); err != nil {
			return fmt.Errorf("write %q to %s: %w", value, at, err)
		}
	}
	return nil
}

func (i ISCSI) Shell(at Place, like string) (Shell, error) {
	want, err := i.parse(at, like)
	if err != nil {
		return Shell{}, err
	}
	target, portal, err := i.place(at)
	if err != nil {
		return Shell{}, err
	}
	known := iscsiSettings()[strings.TrimPrefix(at.Setting, iscsiPrefix)]
	node := "iscsiadm -m node -T " + Quote(target) + " -p " + Quote(portal)
	var parts, update []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		parts = append(parts, name+" "+known[name].name)
		set := node + " -o update -n " + Quote(known[name].name) + " -v "
		if name == "" {
			update = append(update, set+`"$word"`)
		} else {
			update = append(update, `case "$word" in `+name+`=*) `+set+`"${word#*=}" ;; esac`)
		}
	}
	return Shell{
		Read:     "now=$(" + node + `) && printf '%s\n' "$now" | parts=` + Quote(strings.Join(parts, "\n")) + " awk -F ' = ' " + Quote(iscsiAwk),
		Write:    "for word in $value; do " + strings.Join(update, " && ") + " || exit 1; done",
		Programs: []string{"iscsiadm", "awk"},
	}, nil
}

// iscsiAwk prints the parts of "PART NAME" lines in $parts from a record.
const iscsiAwk = `
{ now[$1] = $2 }
END {
	n = split(ENVIRON["parts"], parts, "\n")
	for (i = 1; i <= n; i++) {
		space = index(parts[i], " ")
		part = substr(parts[i], 1, space - 1)
		name = substr(parts[i], space + 1)
		if (!(name in now)) exit 1
		line = line (i > 1 ? " " : "") (part == "" ? "" : part "=") now[name]
	}
	print line
}`

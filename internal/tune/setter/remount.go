package setter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// Ids of the options that a remount changes.
const (
	NFSSyncSetting    = mountOptionPrefix + "nfs.sync"
	SMBSyncSetting    = mountOptionPrefix + "cifs.sync"
	SMBActimeoSetting = mountOptionPrefix + "cifs.actimeo"
)

// Remount sets the options that the kernel changes of mounted NFS and SMB shares: whether writes
// are synchronous ("on" or "off"), and for how many seconds an SMB client trusts attributes. Of
// NFS the kernel compares everything else with what is in force, and refuses a difference
// (fs/nfs/super.c, nfs_compare_remount_data). Of SMB it takes every option from the call, and
// those that are absent become defaults (fs/smb/client/fs_context.c, smb3_reconfigure): so the
// call has all that the mount table shows, and a remount that changed anything else is taken
// back. SMB sizes are Mount's: a remount does not ask the server how much it answers, and above
// that reads and writes fail.
type Remount struct {
	Tree Tree
	// Remount is kernel.Remount.
	Remount func(point string, flags []string, options string) error
}

// ByRemount tells whether a remount changes the setting.
func ByRemount(setting string) bool {
	return slices.Contains([]string{NFSSyncSetting, SMBSyncSetting, SMBActimeoSetting}, setting)
}

// Owns implements Setter.
func (Remount) Owns(setting string) bool { return ByRemount(setting) }

// remountKind is the file system of a setting, nfs or cifs, and the option.
func remountKind(setting string) (kind, option string) {
	kind, option, _ = strings.Cut(strings.TrimPrefix(setting, mountOptionPrefix), ".")
	return kind, option
}

// Canonical implements Setter.
func (r Remount) Canonical(at Place, value string) (string, error) {
	if err := r.check(at); err != nil {
		return "", err
	}
	if at.Setting == SMBActimeoSetting {
		return oneNumber(at, value, limits{0, 1 << 20, false}) // CIFS_MAX_ACTIMEO: 2^30 ticks of 1 ms or more
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) != 1 || words[0] != "on" && words[0] != "off" {
		return "", fmt.Errorf("value %q of %s: want on or off: %w", value, at, ErrValue)
	}
	return words[0], nil
}

func (Remount) check(at Place) error {
	if !ByRemount(at.Setting) {
		return fmt.Errorf("mount option %s: no remount changes it: %w", at, ErrValue)
	}
	_, err := mountPoint(at)
	return err
}

// Read implements Setter.
func (r Remount) Read(_ context.Context, at Place, _ string) (string, error) {
	if err := r.check(at); err != nil {
		return "", err
	}
	line, err := r.line(at)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	_, option := remountKind(at.Setting)
	if option == "sync" {
		return map[bool]string{true: "on", false: "off"}[slices.Contains(line.shared, "sync")], nil
	}
	for _, o := range line.shared {
		if v, ok := strings.CutPrefix(o, option+"="); ok {
			return r.Canonical(at, v)
		}
	}
	return "", fmt.Errorf("read %s: the mount has acregmax and acdirmax of their own: %w", at, ErrUnsupported)
}

// mountLine is what the mount table says of one mount: its own flags, and the flags and options
// of the file system, which all mounts of it share.
type mountLine struct {
	kind        string
	own, shared []string
}

// line reads the topmost mount at a place, which must be of the setting's kind.
func (r Remount) line(at Place) (mountLine, error) {
	on, err := mountedAt(r.Tree, at)
	if err != nil {
		return mountLine{}, err
	}
	want, _ := remountKind(at.Setting)
	kind := map[string]string{"nfs": "nfs", "nfs4": "nfs", "cifs": "cifs", "smb3": "cifs"}[on.Type]
	if kind != want {
		return mountLine{}, fmt.Errorf("%s is mounted there, not %s: %w", on.Type, want, ErrUnsupported)
	}
	b, err := r.Tree.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mountLine{}, err
	}
	line := mountLine{kind: kind}
	for text := range strings.Lines(string(b)) {
		left, right, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " - ")
		l, s := strings.Fields(left), strings.Split(right, " ")
		if len(l) >= 6 && len(s) > 2 && kernel.Unescape(l[4]) == on.Point && s[0] == on.Type {
			line.own, line.shared = strings.Split(l[5], ","), strings.Split(s[2], ",")
		}
	}
	if line.own == nil { // unmounted since
		return line, fmt.Errorf("nothing is mounted at %s: %w", on.Point, kernel.ErrNoDevice)
	}
	return line, nil
}

// sharedFlags are the flags of a file system; its other words are options of its own.
func sharedFlags() []string { return []string{"rw", "ro", "sync", "dirsync", "mand", "lazytime"} }

// call is the remount that asks for the line as it is: the flags of both, and the options that
// the kernel must be given. SELinux writes seclabel into the table and takes it from nobody.
func (l mountLine) call() (flags []string, options string) {
	flags = slices.Clone(l.own)
	var rest []string
	for _, o := range l.shared {
		switch {
		case slices.Contains(sharedFlags(), o):
			flags = append(flags, o)
		case o != "seclabel" && l.kind == "cifs":
			rest = append(rest, o)
		}
	}
	slices.Sort(flags)
	flags = slices.DeleteFunc(slices.Compact(flags), func(f string) bool { return f == "rw" })
	return flags, strings.Join(rest, ",")
}

// with is the line with another value of the option.
func (l mountLine) with(option, value string) mountLine {
	l.shared = slices.DeleteFunc(slices.Clone(l.shared), func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return name == option
	})
	switch value {
	case "off":
	case "on":
		l.shared = append(l.shared, option)
	default:
		l.shared = append(l.shared, option+"="+value)
	}
	return l
}

// keepable says what in the line a remount could not keep.
func (l mountLine) keepable() error {
	if slices.Contains(l.own, "ro") != slices.Contains(l.shared, "ro") {
		return fmt.Errorf("the mount and its file system differ in who may write, and a remount makes both alike: %w", ErrSideEffect)
	}
	if strings.Contains(strings.Join(l.shared, ","), `\`) {
		return fmt.Errorf("an option has a character that a remount would not take back: %w", ErrSideEffect)
	}
	return nil
}

// others is the line without the option, for comparison.
func (l mountLine) others(option string) string {
	own, shared := slices.Sorted(slices.Values(l.own)), slices.Sorted(slices.Values(l.with(option, "off").shared))
	return strings.Join(own, ",") + " " + strings.Join(shared, ",")
}

// Write implements Setter.
func (r Remount) Write(ctx context.Context, at Place, value string) error {
	value, err := r.Canonical(at, value)
	if err != nil {
		return err
	}
	now, err := r.Read(ctx, at, value)
	if err != nil || now == value {
		return err
	}
	before, err := r.line(at)
	if err == nil {
		err = before.keepable()
	}
	if err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	point, _ := mountPoint(at) // checked by Canonical
	_, option := remountKind(at.Setting)
	flags, options := before.with(option, value).call()
	if err := r.Remount(point, flags, options); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	after, err := r.line(at)
	if err != nil {
		return fmt.Errorf("read %s back: %w", at, err)
	}
	if after.others(option) == before.others(option) {
		return nil
	}
	flags, options = before.call()
	if err := r.Remount(point, flags, options); err != nil {
		return fmt.Errorf("write %q to %s: other options changed with it (%s, before %s), and taking that back failed: %w", value, at, after.others(option), before.others(option), err)
	}
	return fmt.Errorf("write %q to %s: other options changed with it (%s, before %s): %w", value, at, after.others(option), before.others(option), ErrSideEffect)
}

// Shell implements Setter. It names source and mount point, since mount(8) else takes options
// from fstab.
func (r Remount) Shell(at Place, _ string) (Shell, error) {
	if err := r.check(at); err != nil {
		return Shell{}, err
	}
	point, err := mountPoint(at)
	if err != nil {
		return Shell{}, err
	}
	kind, option := remountKind(at.Setting)
	types := map[string]string{"nfs": "^nfs4?$", "cifs": "^(cifs|smb3)$"}[kind]
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`).Replace(point)
	// find has the last line of that point: type, source, own flags, shared words.
	find := `point=` + Quote(escaped) + ` awk '$5 == ENVIRON["point"] { for (i = 7; i < NF && $i != "-"; i++); line = ($(i + 1) ~ /` + types + `/) ? $(i + 1) " " $(i + 2) " " $6 " " $(i + 3) : "" } ` +
		`END { if (line == "") exit 1; print line }' ` + Quote(r.Tree.Path("/proc/self/mountinfo"))
	read := `now=off; case ",$4," in *,sync,*) now=on;; esac`
	if option != "sync" {
		read = `now=",$4,"; case "$now" in *,` + option + `=*) ;; *) false;; esac && now=${now#*,` + option + `=} && now=${now%%,*}`
	}
	line := `line=$(` + find + `) && set -- $line && `
	keep := `case ",$4," in *\\*) echo "an option has a character that a remount does not take" >&2; false;; esac && ` +
		`case ",$3, ,$4," in *,ro,*" "*,ro,*|*,rw,*" "*,rw,*) ;; *) echo "the mount and its file system differ in who may write" >&2; false;; esac`
	flags := `{ o=$3; for w in $(echo "$4" | tr , ' '); do case $w in `
	if kind == "nfs" {
		flags += `dirsync|mand|lazytime) o=$o,$w;; *) ;; esac; done; }`
	} else {
		flags += `rw|ro|seclabel|` + option + `|` + option + `=*) ;; *) o=$o,$w;; esac; done; }`
	}
	want := `case $value in on) o=$o,` + option + `;; off) ;; *) o=$o,` + option + `=$value;; esac`
	return Shell{
		Read:     line + read + ` && echo "$now"`,
		Write:    line + keep + ` && ` + flags + ` && ` + want + ` && mount -i -t "$1" -o "remount,$o" "$(printf '%b' "$2")" ` + Quote(point),
		Programs: []string{"awk", "mount"},
	}, nil
}

package persist

import (
	"fmt"
	"slices"
	"strings"
)

// Value is a setting with the value to be made permanent.
type Value struct{ Setting, Target, Value string }

// String names the setting for people.
func (v Value) String() string {
	if v.Target == "" {
		return v.Setting
	}
	return v.Setting + " of " + v.Target
}

// NIC is an interface and the program that configures it when the host starts.
type NIC struct {
	Device, Name string // model.NIC.Device, and its present name
	// Keyfile is the NetworkManager keyfile of its connection (nm-settings-keyfile(5)).
	Keyfile string
	// NetworkFile is the .network file that systemd-networkd uses for it, and NetworkShared tells
	// whether other interfaces use it too.
	NetworkFile   string
	NetworkShared bool
	// LinkText is the text of the .link file that udev used for it (systemd.link(5)): one that
	// replaces it has to keep its [Link] section, which names the interface.
	LinkText string
}

// Host is what determines where a host keeps a value.
type Host struct {
	NICs []NIC
	// Ethtool is the path of ethtool(8); empty if it is missing.
	Ethtool string
	// Read returns a file's text; false if it does not exist.
	Read func(path string) (text string, ok bool, err error)
}

// File is the wanted state of one file.
type File struct {
	Path, Text string
	Settings   []string
	Note       string // what the user has to know of it
}

// Refused is a setting that no file makes permanent.
type Refused struct{ Setting, Why string }

// Mark is the first line of every file that belongs to linerate.
const Mark = "# Made by linerate: what it changed on this host and was told to keep.\n" +
	"# `linerate tune undo` takes it away again and restores what was here.\n"

// Render returns the files that keep values, in order of path, and the settings that no file
// keeps. Files that need no change are left out.
//
// Errors: those of Read, or a file of the same name that is not linerate's.
func Render(values []Value, h Host) ([]File, []Refused, error) {
	r := &rendering{host: h, texts: map[string]string{}}
	for _, v := range values {
		if err := r.value(v); err != nil {
			return nil, nil, fmt.Errorf("keep %s: %w", v, err)
		}
	}
	slices.SortStableFunc(r.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	var out []File
	for _, f := range r.files {
		if f.Text != r.texts[f.Path] {
			out = append(out, f)
		}
	}
	return out, r.refused, nil
}

// rendering is the state of Render.
type rendering struct {
	host    Host
	files   []File
	texts   map[string]string // what files held before
	refused []Refused
}

func (r *rendering) value(v Value) error {
	_, id, _ := strings.Cut(v.Setting, ".") // its system: linux, or any for ZFS
	mechanism, _, _ := strings.Cut(id, ".")
	switch mechanism {
	case "sysctl":
		return r.sysctl(v)
	case "link", "ethtool":
		return r.nic(v)
	case "module", "zfsmodule":
		return r.module(v)
	case "mount":
		return r.mount(v)
	case "zfs", "iscsi", "samba":
		r.refuse(v, "it is already permanent where it was set")
	default:
		r.refuse(v, "no file is known that sets it when the host starts: apply the plan again after a restart")
	}
	return nil
}

func (r *rendering) refuse(v Value, why string) {
	r.refused = append(r.refused, Refused{Setting: v.String(), Why: why})
}

// edit changes the text of one of the host's files; the function gets "" and false if it does not
// exist.
func (r *rendering) edit(path string, v Value, note string, change func(text string, exists bool) (string, error)) error {
	for i := range r.files {
		if r.files[i].Path != path {
			continue
		}
		text, err := change(r.files[i].Text, true)
		r.files[i].Text = text
		r.files[i].Settings = append(r.files[i].Settings, v.String())
		return err
	}
	before, exists, err := r.host.Read(path)
	if err != nil {
		return err
	}
	text, err := change(before, exists)
	if err != nil {
		return err
	}
	r.texts[path] = before
	r.files = append(r.files, File{Path: path, Text: text, Settings: []string{v.String()}, Note: note})
	return nil
}

// own changes one line of a file that belongs to linerate: it replaces the line that begins with
// key, or inserts a line in sorted order.
func (r *rendering) own(path string, v Value, note, key, line string) error {
	return r.edit(path, v, note, func(text string, exists bool) (string, error) {
		if !exists {
			text = Mark
		}
		body, ok := strings.CutPrefix(text, Mark)
		if !ok {
			return "", fmt.Errorf("%s is there and not marked as linerate's: move it away", path)
		}
		lines := strings.FieldsFunc(body, func(c rune) bool { return c == '\n' })
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, key) })
		lines = append(lines, line)
		slices.Sort(lines)
		return Mark + strings.Join(lines, "\n") + "\n", nil
	})
}

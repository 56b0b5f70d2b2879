package fake

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// property is one of ipadm's, with the range that the system takes.
type property struct {
	fresh      string
	least, max int64
}

func properties() map[string]property {
	return map[string]property{
		"max_buf": {"1048576", 8192, 1 << 30}, "send_buf": {"49152", 4096, 0}, "recv_buf": {"128000", 2048, 0}, // 0: up to max_buf
		"_cwnd_max": {"1048576", 128, 1 << 30}, "_deferred_acks_max": {"2", 0, 16}, "_naglim_def": {"4095", 1, 65535},
	}
}

// change carries out a command that changes something; false: it is none.
func (h host) change(name string, args []string) (said string, ok bool, err error) {
	line := name + " " + strings.Join(args, " ")
	switch {
	case name == "at":
		return "commands will be executed using /usr/bin/ksh\njob 1796400000.a at Thu Dec  3 10:00:00 2026\n", true, nil
	case strings.HasPrefix(line, "ipadm set-prop -t -p ") && len(args) == 5 && args[4] == "tcp":
		return "", true, h.setProperty(args[3])
	case strings.HasPrefix(line, "ipadm set-prop -p ") && len(args) == 4 && args[3] == "tcp":
		name, value, _ := strings.Cut(args[2], "=")
		return "", true, errors.Join(h.setProperty(args[2]), h.write("persistent."+name, value))
	case strings.HasPrefix(line, "ipadm reset-prop -p ") && len(args) == 4 && args[3] == "tcp":
		p, known := properties()[args[2]]
		if !known {
			return "", true, errors.New("unknown property: " + args[2])
		}
		return "", true, errors.Join(h.write(args[2], p.fresh), h.forget("persistent."+args[2]))
	case name == "dladm" && len(args) > 3 && strings.HasSuffix(args[0], "set-linkprop"):
		return "", true, h.setLink(args)
	case strings.HasPrefix(line, "stmfadm modify-lu -p wcd=") && len(args) == 4 && args[3] == unit:
		value := strings.TrimPrefix(args[2], "wcd=")
		if value != "true" && value != "false" {
			return "", true, errors.New("invalid property value: " + args[2])
		}
		return "", true, h.write("tank:wcd", value)
	case strings.HasPrefix(line, "sharectl set -p ") && len(args) == 4 && args[3] == "nfs":
		name, value, _ := strings.Cut(args[2], "=")
		if n, err := strconv.ParseInt(value, 10, 64); name != "servers" && name != "lockd_servers" || err != nil || n < 1 {
			return "", true, fmt.Errorf("invalid property or value: %s", args[2])
		}
		return "", true, h.write(name, value)
	case strings.HasPrefix(line, "zfs set ") && len(args) == 3:
		name, value, _ := strings.Cut(args[1], "=")
		if !slices.Contains([]string{"atime=on", "atime=off", "recordsize=131072", "recordsize=1048576", "compression=lz4", "compression=off",
			"dedup=on", "dedup=off", "primarycache=all", "primarycache=metadata", "sync=standard", "sync=always"}, args[1]) {
			return "", true, fmt.Errorf("cannot set property for '%s': bad %s=%s", args[2], name, value)
		}
		return "", true, h.write(args[2]+":"+name, value)
	case strings.HasPrefix(line, "zfs inherit ") && len(args) == 3:
		err := os.Remove(filepath.Join(h.state, strings.ReplaceAll(args[2]+":"+args[1], "/", "~")))
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return "", true, err
	}
	return "", false, nil
}

func (h host) setProperty(arg string) error {
	name, value, _ := strings.Cut(arg, "=")
	p, known := properties()[name]
	n, err := strconv.ParseInt(value, 10, 64)
	if !known || err != nil {
		return fmt.Errorf("cannot set property %q: invalid argument", arg)
	}
	if p.max == 0 {
		p.max, err = strconv.ParseInt(h.value("max_buf", "1048576"), 10, 64)
	}
	if err != nil || n < p.least || n > p.max {
		return fmt.Errorf("warning: value %s of %s is out of range: invalid argument", value, name)
	}
	return h.write(name, value)
}

// unit is the logical unit that the fake has.
const unit = "600144F0C73A8B0000005A1B2C3D0001"

// setLink is dladm's set-linkprop and reset-linkprop. A link on which IP runs is busy.
func (h host) setLink(args []string) error {
	how, link := strings.Join(args[:len(args)-2], " "), args[len(args)-1]
	name, value, assigned := strings.Cut(args[len(args)-2], "=")
	n, err := strconv.Atoi(value)
	switch {
	case link != "igb0" && link != "ixgbe0":
		return errors.New("warning: object not found: " + link)
	case link == "ixgbe0":
		return errors.New("warning: cannot set link property 'mtu' on 'ixgbe0': link busy")
	case name != "mtu" || assigned && (err != nil || n < 1500 || n > 9000):
		return errors.New("warning: cannot set link property: " + args[len(args)-2])
	case how == "set-linkprop -t -p" && assigned:
		return h.write("igb0.mtu", value)
	case how == "set-linkprop -p" && assigned:
		return errors.Join(h.write("igb0.mtu", value), h.write("persistent.igb0.mtu", value))
	case how == "reset-linkprop -p" && !assigned:
		return errors.Join(h.write("igb0.mtu", "1500"), h.forget("persistent.igb0.mtu"))
	}
	return errors.New("unrecognized option: " + how)
}

func (h host) forget(name string) error {
	err := os.Remove(filepath.Join(h.state, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// write keeps a value, unless the host was told to do otherwise.
func (h host) write(name, value string) error {
	if h.state == "" {
		return errors.New("permission denied")
	}
	for _, how := range strings.Split(h.how, ",") {
		switch how {
		case "refuse:" + name:
			return errors.New("invalid argument")
		case "ignore:" + name:
			return nil
		case "round:" + name:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 1 {
				value = strconv.FormatInt(n-1, 10)
			}
		}
	}
	return os.WriteFile(filepath.Join(h.state, strings.ReplaceAll(name, "/", "~")), []byte(value), 0o600)
}

func realCat(files []string, out, errs io.Writer) int {
	if len(files) == 0 {
		if _, err := io.Copy(out, os.Stdin); err != nil {
			return 1
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			fmt.Fprintf(errs, "cat: %v\n", err)
			return 1
		}
		_, _ = out.Write(b) // its reader sees what is missing
	}
	return 0
}

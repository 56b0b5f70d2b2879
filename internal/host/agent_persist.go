package host

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"linerate/internal/facts"
	"linerate/internal/kernel"
	"linerate/internal/tune/persist"
)

// persisting finds out which services configure this host's interfaces at boot.
func (a *agent) persisting(ctx context.Context) (persist.Host, error) {
	f, err := facts.Read(ctx, a.src, "this host", a.o.Now())
	if err != nil {
		return persist.Host{}, err
	}
	var h persist.Host
	if h.Ethtool, err = kernel.FindProgram("ethtool", "/usr/sbin:/sbin:/usr/bin:/bin"); err != nil {
		h.Ethtool = "" // package persist reports what that means
	}
	keyfiles, err := keyfiles(a.src)
	if err != nil {
		return persist.Host{}, err
	}
	users := map[string]int{}
	for _, n := range f.NICs {
		nic := persist.NIC{Device: n.Device, Name: n.Name, Keyfile: keyfiles[n.Name]}
		if err := setUpBy(a.src, &nic); err != nil {
			return persist.Host{}, err
		}
		users[nic.NetworkFile]++
		h.NICs = append(h.NICs, nic)
	}
	for i := range h.NICs {
		h.NICs[i].NetworkShared = users[h.NICs[i].NetworkFile] > 1
	}
	return h, nil
}

// setUpBy reads what systemd-networkd and udev have recorded about an interface:
// /run/systemd/netif/links and /run/udev/data, by its index.
func setUpBy(src kernel.Source, n *persist.NIC) error {
	index, err := optional(src, path.Join("/sys/class/net", n.Name, "ifindex"))
	if err != nil || index == "" {
		return err
	}
	index = strings.TrimSpace(index)
	link, err := optional(src, "/run/systemd/netif/links/"+index)
	if err != nil {
		return err
	}
	n.NetworkFile = valueOf(link, "NETWORK_FILE=")
	udev, err := optional(src, "/run/udev/data/n"+index)
	if err != nil {
		return err
	}
	if file := valueOf(udev, "E:ID_NET_LINK_FILE="); path.IsAbs(file) {
		n.LinkText, err = optional(src, file)
	}
	return err
}

// keyfiles returns NetworkManager's keyfiles by the interface that they name, if
// NetworkManager runs. A connection that names no interface may be used for any, so it is left
// out.
func keyfiles(src kernel.Source) (map[string]string, error) {
	const dir = "/etc/NetworkManager/system-connections"
	if _, err := src.ReadDir("/run/NetworkManager"); err != nil {
		return nil, absent(err)
	}
	names, err := src.ReadDir(dir)
	if err != nil {
		return nil, absent(err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := optional(src, path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if nic := valueOf(text, "interface-name="); strings.HasSuffix(name, ".nmconnection") && nic != "" {
			out[nic] = path.Join(dir, name)
		}
	}
	return out, nil
}

// valueOf returns what follows a key at the beginning of a line.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok {
			return v
		}
	}
	return ""
}

// optional reads a file that need not be there.
func optional(src kernel.Source, file string) (string, error) {
	b, err := src.ReadFile(file)
	return string(b), absent(err)
}

// absent turns the error of a missing file into nil.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

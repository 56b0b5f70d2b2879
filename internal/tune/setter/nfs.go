package setter

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Ids of the NFS mechanisms.
const (
	ReadAheadSetting    = "linux.bdi.nfs_readahead"
	NFSDThreadsSetting  = "linux.nfsd.threads"
	NFSDMaxBlockSetting = "linux.nfsd.max_block_size"
)

// mountPrefix is the prefix of a target that is a mount point: "mount:/mnt/nas".
const mountPrefix = "mount:"

// NFSReadAhead sets the read-ahead of a mounted NFS export in KiB
// (Documentation/ABI/testing/sysfs-class-bdi). Mounts of one export with the
// same options share it. The kernel rounds down to pages.
func NFSReadAhead(tree Tree) Setter {
	return spreads{
		owns: func(setting string) bool { return setting == ReadAheadSetting },
		of: func(Place) spread {
			return spread{
				tree: tree, found: trimmed, filter: trimmedShell, programs: []string{"awk"},
				word: func(at Place, s string) (string, error) {
					n, err := numberIn(at, "KiB", s, limits{0, 1 << 22, false})
					return strconv.FormatInt(n, 10), err
				},
				check: func(at Place) error {
					if at.Setting != ReadAheadSetting {
						return fmt.Errorf("read-ahead %s: want %s: %w", at, ReadAheadSetting, ErrValue)
					}
					_, err := mountPoint(at)
					return err
				},
				members: func(at Place) ([]member, error) {
					dev, err := mountDevice(tree, at)
					return []member{{"mount", "/sys/class/bdi/" + dev + "/read_ahead_kb"}}, err
				},
				list: func(at Place) (string, error) {
					point, err := mountPoint(at)
					return listMount(tree, point), err
				},
			}
		},
	}
}

// mountPoint is the path of a target "mount:/PATH".
func mountPoint(at Place) (string, error) {
	p, ok := strings.CutPrefix(at.Target, mountPrefix)
	if !ok || !path.IsAbs(p) || path.Clean(p) != p || len(p) > maxValue || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return "", fmt.Errorf("%s: want a mount point as mount:/PATH: %w", at, ErrValue)
	}
	return p, nil
}

// mountDevice is major:minor of the NFS mount at the place.
func mountDevice(tree Tree, at Place) (string, error) {
	on, err := mountedAt(tree, at)
	if err != nil {
		return "", err
	}
	if on.Type != "nfs" && on.Type != "nfs4" {
		return "", fmt.Errorf("%s is mounted at %s, not NFS: %w", on.Type, on.Point, ErrUnsupported)
	}
	return on.Dev, nil
}

// listMount is mountDevice in shell. The kernel writes blanks and backslashes of a path as octal
// escapes (proc_pid_mountinfo(5)).
func listMount(tree Tree, point string) string {
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`).Replace(point)
	return `dev=$(point=` + Quote(escaped) + ` awk '$5 == ENVIRON["point"] { for (i = 7; i < NF && $i != "-"; i++); dev = ""; if ($(i + 1) ~ /^nfs4?$/) dev = $3 } END { print dev }' ` +
		Quote(tree.Path("/proc/self/mountinfo")) + `) && [ -n "$dev" ] && echo mount ` + Quote(tree.Path("/sys/class/bdi")) + `"/$dev/read_ahead_kb"`
}

// nfsdFile are the settings of the kernel's NFS server: files below /proc/fs/nfsd
// (fs/nfsd/nfsctl.c). The server accepts at most 8192 threads (NFSD_MAXSERVS) and requests of 1
// KiB to 4 MiB (NFSSVC_MAXBLKSIZE; 1 MiB before 6.16), which it rounds to whole KiB.
func nfsdFile(setting string) (string, limits, bool) {
	switch setting {
	case NFSDThreadsSetting:
		return "threads", limits{1, 8192, false}, true
	case NFSDMaxBlockSetting:
		return "max_block_size", limits{1024, 4 << 20, false}, true
	}
	return "", limits{}, false
}

// NFSD sets the number of threads of the kernel's NFS server, and its largest request, in bytes.
// It neither starts nor stops the server: a server without threads is an error, and the kernel
// refuses to change the largest request of a running one with "device or resource busy".
func NFSD(tree Tree) Setter {
	return spreads{
		owns: func(setting string) bool { _, _, ok := nfsdFile(setting); return ok },
		of: func(at Place) spread {
			file, l, ok := nfsdFile(at.Setting)
			return spread{
				tree: tree, found: trimmed, filter: trimmedShell,
				word: func(at Place, s string) (string, error) {
					if s == "0" && at.Setting == NFSDThreadsSetting {
						return "", fmt.Errorf("%s is 0, a server that is stopped: start and stop it with the system's own means: %w", at, ErrValue)
					}
					n, err := numberIn(at, "value", s, l)
					return strconv.FormatInt(n, 10), err
				},
				check: func(at Place) error {
					if !ok || at.Target != "" {
						return fmt.Errorf("NFS server %s: want %s or %s, and no device: %w", at, NFSDThreadsSetting, NFSDMaxBlockSetting, ErrValue)
					}
					return nil
				},
				members: func(Place) ([]member, error) { return []member{{"nfsd", "/proc/fs/nfsd/" + file}}, nil },
				list:    func(Place) (string, error) { return "echo nfsd " + Quote(tree.Path("/proc/fs/nfsd/"+file)), nil },
			}
		},
	}
}

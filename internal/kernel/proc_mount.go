package kernel

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
)

// ParseMountinfo reads /proc/self/mountinfo (proc_pid_mountinfo(5)) in its order: of two
// mounts on one point the later one hides the earlier one. Options are those of the mount and
// of the file system, "" for one without a value.
func ParseMountinfo(b []byte) ([]model.Mount, error) {
	nodes, err := ParseMountTree(b)
	if err != nil {
		return nil, err
	}
	var out []model.Mount
	for _, n := range nodes {
		out = append(out, n.Mount)
	}
	return out, nil
}

// MountNode is a mount, and where it stands in the tree of all.
type MountNode struct {
	model.Mount
	ID, Parent int
	Root       string // the directory, or file, of its file system that it shows at its point
}

// ParseMountTree reads the same as ParseMountinfo, with what tells which mount lies on which, and
// what part of its file system each of them shows.
func ParseMountTree(b []byte) ([]MountNode, error) {
	var out []MountNode
	for line := range bytes.Lines(b) {
		left, right, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		l, r := strings.Fields(left), strings.Split(right, " ")
		if !ok || len(l) < 6 || len(r) < 2 {
			return nil, fmt.Errorf("parse mountinfo line %q: want six fields, a dash and two", strings.TrimSpace(string(line)))
		}
		m := MountNode{Root: Unescape(l[3]), Mount: model.Mount{Type: r[0], Source: Unescape(r[1]), Point: Unescape(l[4]), Dev: l[2], Options: map[string]string{}}}
		var err [2]error
		m.ID, err[0] = strconv.Atoi(l[0])
		m.Parent, err[1] = strconv.Atoi(l[1])
		if err := cmp.Or(err[0], err[1]); err != nil {
			return nil, fmt.Errorf("parse mountinfo line %q: %w", strings.TrimSpace(string(line)), err)
		}
		addOptions(m.Options, l[5])
		if len(r) > 2 {
			addOptions(m.Options, r[2])
		}
		out = append(out, m)
	}
	return out, nil
}

func addOptions(into map[string]string, list string) {
	for o := range strings.SplitSeq(list, ",") {
		if k, v, _ := strings.Cut(o, "="); k != "" {
			into[Unescape(k)] = Unescape(v)
		}
	}
}

// Unescape undoes the escapes of /proc/mounts and fstab(5): \040 for a space, \011 tab, \012 newline, \134 backslash.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// ParseMountstats reads the statistics of the NFS mount at point from /proc/self/mountstats
// (net/sunrpc/stats.c, fs/nfs/super.c, xprtsock.c). Transports of one mount (nconnect) are
// summed. A missing mount, or one that is not NFS, is an error.
func ParseMountstats(b []byte, point string) (*model.NFSCount, error) {
	var count *model.NFSCount
	inside := false
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) > 0 && f[0] == "device" {
			here, nfs := mountstatsHead(f)
			if inside = here == point && nfs; inside {
				// A later mount on the same point covers an earlier one.
				count = &model.NFSCount{Mount: point, Ops: map[string]model.NFSOp{}}
			}
			continue
		}
		if !inside || len(f) == 0 {
			continue
		}
		if err := mountstatsLine(count, f); err != nil {
			return nil, fmt.Errorf("parse mountstats of %s: %w", point, err)
		}
	}
	if count == nil {
		return nil, fmt.Errorf("parse mountstats: no NFS mount at %s", point)
	}
	return count, nil
}

// mountstatsHead reads "device SOURCE mounted on POINT with fstype TYPE …".
func mountstatsHead(f []string) (point string, nfs bool) {
	if len(f) < 8 || f[2] != "mounted" || f[5] != "with" {
		return "", false
	}
	return path.Clean(Unescape(f[4])), f[7] == "nfs" || f[7] == "nfs4"
}

func mountstatsLine(c *model.NFSCount, f []string) error {
	switch f[0] {
	case "bytes:":
		n, err := numbers(f[1:], 6)
		if err != nil {
			return fmt.Errorf("bytes: %w", err)
		}
		c.ServerReadBytes, c.ServerWriteBytes = n[4], n[5]
	case "xprt:":
		return mountstatsXprt(c, f[1:])
	case "age:", "opts:", "caps:", "sec:", "events:", "RPC", "per-op", "nfsv4:", "fsc:", "impl_id:", "pnfs:", "lwp:":
	default:
		if op, ok := strings.CutSuffix(f[0], ":"); ok && len(f) >= 9 {
			n, err := numbers(f[1:], 8)
			if err != nil {
				return fmt.Errorf("%s: %w", op, err)
			}
			c.Ops[op] = model.NFSOp{
				Ops: n[0], Trans: n[1], Timeouts: n[2], BytesSent: n[3], BytesRecv: n[4],
				Queue: scaled(n[5], time.Millisecond), RTT: scaled(n[6], time.Millisecond), Execute: scaled(n[7], time.Millisecond),
			}
		}
	}
	return nil
}

// mountstatsXprt reads one transport. tcp: port, binds, connects, connect time, idle time, sends,
// receives, bad xids, requests in use, backlog use, slots, sending use, pending use; udp has no
// connects nor times. rdma has other counters and is skipped.
func mountstatsXprt(c *model.NFSCount, f []string) error {
	skip := map[string]int{"tcp": 5, "udp": 2, "local": 4}
	at, ok := skip[f0(f)]
	if !ok {
		return nil
	}
	n, err := numbers(f[1:], len(f)-1)
	if err != nil {
		return fmt.Errorf("xprt: %w", err)
	}
	get := func(i int) int64 { // statvers 1.0 ends before the slots
		if at+i < len(n) {
			return n[at+i]
		}
		return 0
	}
	c.Sends += get(0)
	c.Receives += get(1)
	c.BacklogUtil += get(4)
	c.MaxSlots += get(5)
	c.SendingUtil += get(6)
	c.PendingUtil += get(7)
	return nil
}

func f0(f []string) string {
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

func numbers(f []string, want int) ([]int64, error) {
	if len(f) < want {
		return nil, fmt.Errorf("%d numbers, want %d", len(f), want)
	}
	out := make([]int64, want)
	for i := range out {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", f[i])
		}
		out[i] = n
	}
	return out, nil
}

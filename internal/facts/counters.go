package facts

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
)

// netCounters are those of /proc/net/snmp and netstat that a rule uses.
func netCounters() []string {
	return []string{
		"Ip.ReasmFails", "Ip.ReasmReqds", "Ip.InReceives", "Tcp.OutSegs", "Tcp.InSegs", "Tcp.RetransSegs", "Tcp.InErrs", "Tcp.InCsumErrors", "Udp.RcvbufErrors",
		"TcpExt.TCPMemoryPressures", "TcpExt.PruneCalled", "TcpExt.RcvPruned", "TcpExt.TCPRcvQDrop", "TcpExt.TCPBacklogDrop",
		"TcpExt.IPReversePathFilter", "TcpExt.TCPTimeouts", "TcpExt.TCPSpuriousRTOs", "TcpExt.TCPZeroWindowDrop", "TcpExt.TCPToZeroWindowAdv",
	}
}

// readNetCounters reads the counters of this network namespace.
func readNetCounters(_ context.Context, src kernel.Source, f *model.Facts) error {
	all := map[string]int64{}
	var errs []error
	for _, file := range []string{"/proc/net/snmp", "/proc/net/netstat"} {
		b, err := src.ReadFile(file)
		if err == nil {
			err = kernel.ParseNetstat(b, all)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(all) == 0 && len(errs) > 0 {
		f.NetCounters = lost[map[string]int64](errs[0])
		return denial(errs[0])
	}
	kept := map[string]int64{}
	for _, name := range netCounters() {
		if v, ok := all[name]; ok {
			kept[name] = v
		}
	}
	f.NetCounters = model.Known(kept)
	return nil
}

// denial keeps an error only if more privilege would help: what does not exist is not missing.
func denial(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// readConntrack reads how full the connection table is. The module need not be loaded.
func readConntrack(_ context.Context, src kernel.Source, f *model.Facts) error {
	count, limit := integer(src, "/proc/sys/net/netfilter/nf_conntrack_count"), integer(src, "/proc/sys/net/netfilter/nf_conntrack_max")
	n, ok1 := count.Get()
	most, ok2 := limit.Get()
	if !ok1 || !ok2 {
		f.Conntrack = model.Unknown[model.Conntrack](count.State, count.Why)
		return nil
	}
	c := model.Conntrack{Count: n, Max: most}
	if b, err := src.ReadFile("/proc/net/stat/nf_conntrack"); err == nil {
		c.Drops = parseConntrackStat(string(b))
	}
	f.Conntrack = model.Known(c)
	return nil
}

// parseConntrackStat adds up the column drop of /proc/net/stat/nf_conntrack: a line of names,
// then one of hexadecimal numbers per CPU (net/netfilter/nf_conntrack_standalone.c). early_drop
// counts evicted entries, not packets.
func parseConntrackStat(s string) int64 {
	var names []string
	var sum int64
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if names == nil {
			names = f
			continue
		}
		for i, name := range names {
			if i >= len(f) || name != "drop" {
				continue
			}
			if v, err := strconv.ParseUint(f[i], 16, 32); err == nil {
				sum += int64(v)
			}
		}
	}
	return sum
}

// readNFSD reads the kernel's NFS server, if it runs.
func readNFSD(_ context.Context, src kernel.Source, f *model.Facts) error {
	b, err := src.ReadFile("/proc/net/rpc/nfsd")
	if err != nil {
		f.NFSD = lost[model.NFSD](err)
		return denial(err)
	}
	d := parseNFSD(string(b))
	if d.Threads <= 0 {
		return nil
	}
	// It is root's alone, and there only while clients are served: without it the names
	// that they use cannot be told from the server's own.
	if b, err := src.ReadFile("/proc/fs/nfsd/exports"); err == nil {
		d.Root = parseExportRoot(string(b))
	}
	f.NFSD = model.Known(d)
	return nil
}

// parseExportRoot finds the directory with fsid=0 in lines "PATH\tCLIENT(FLAGS)…", where a
// path has its odd characters as octal escapes (exp_show, fs/nfsd/export.c). Clients that
// are given different ones leave it unknown.
func parseExportRoot(s string) string {
	root := ""
	for line := range strings.Lines(s) {
		dir, who, ok := strings.Cut(strings.TrimSpace(line), "\t")
		_, flags, is := strings.Cut(who, "(")
		flags, _, closed := strings.Cut(flags, ")")
		if !ok || !is || !closed || !strings.HasPrefix(dir, "/") || !slices.Contains(strings.Split(flags, ","), "fsid=0") {
			continue
		}
		if dir = path.Clean(kernel.Unescape(dir)); root != "" && root != dir {
			return ""
		}
		root = dir
	}
	return root
}

// parseNFSD reads the lines "th THREADS …" and "net PACKETS UDP TCP CONNS"
// (fs/nfsd/stats.c, net/sunrpc/stats.c).
func parseNFSD(s string) model.NFSD {
	var d model.NFSD
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "th":
			if n, err := strconv.ParseUint(f[1], 10, 31); err == nil {
				d.Threads = int(n)
			}
		case len(f) > 3 && f[0] == "net":
			udp, err1 := strconv.ParseInt(f[2], 10, 64)
			tcp, err2 := strconv.ParseInt(f[3], 10, 64)
			if err1 == nil && err2 == nil && udp >= 0 && tcp >= 0 {
				d.UDP, d.TCP = udp, tcp
			}
		}
	}
	return d
}

// readServices lists the running processes that rules name, and what file servers among
// all of them serve.
func readServices(_ context.Context, src kernel.Source, f *model.Facts) error {
	names, err := src.ReadDir("/proc")
	if err != nil {
		f.Services = lost[[]string](err)
		return denial(err)
	}
	known, seen := snapshot.Services(), []string{}
	f.Shares = nil
	for _, pid := range numberedNames(names, "") {
		name, ok := word(src, "/proc/"+pid+"/comm").Get()
		if ok && slices.Contains(known, name) && !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		f.Shares = append(f.Shares, sharesOf(src, pid, name, f.UID)...)
	}
	f.Shares = distinct(f.Shares)
	slices.Sort(seen)
	f.Services = model.Known(seen)
	return nil
}

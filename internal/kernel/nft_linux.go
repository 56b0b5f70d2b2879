package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// maxNFTRules bounds how many rules are read, at some 15 µs each; more make no difference to any
// finding.
const maxNFTRules = 10_000

// Firewall lists the chains of the packet filter, of nf_tables and of the older iptables, in the
// calling thread's network namespace. Both require CAP_NET_ADMIN. A filter that is not loaded is
// not queried, since the query would load it: without either the answer is fs.ErrNotExist.
func (l Live) Firewall(ctx context.Context) ([]model.FirewallChain, error) {
	nft, legacy := l.hasNFT(), l.legacyTables()
	if !nft && legacy == nil {
		return nil, fmt.Errorf("list firewall rules: no packet filter is loaded: %w", fs.ErrNotExist)
	}
	out := []model.FirewallChain{}
	if nft {
		chains, err := nftChains(ctx)
		if err != nil {
			return nil, fmt.Errorf("list firewall rules by nf_tables: %w", err)
		}
		out = append(out, chains...)
	}
	for _, t := range legacy {
		if t.err != nil {
			return nil, fmt.Errorf("list firewall rules of %s: %w", t.family, t.err)
		}
		out = append(out, t.chains...)
	}
	return out, nil
}

// hasNFT tells whether nf_tables can be queried without loading it: the kernel has no modules, or
// nf_tables is a loaded one, or it is built in.
func (l Live) hasNFT() bool {
	loaded, err := l.ReadFile("/proc/modules")
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if strings.Contains("\n"+string(loaded), "\nnf_tables ") {
		return true
	}
	release, err := l.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	builtin, err := l.ReadFile("/lib/modules/" + strings.TrimSpace(string(release)) + "/modules.builtin")
	return err == nil && strings.Contains(string(builtin), "/nf_tables.ko")
}

func nftChains(ctx context.Context) ([]model.FirewallChain, error) {
	var chains []model.FirewallChain
	err := nftDump(ctx, unix.NFT_MSG_GETCHAIN, func(b []byte) error {
		c, err := ParseNFTChain(b)
		if c != nil {
			chains = append(chains, *c)
		}
		return err
	})
	if err != nil || len(chains) == 0 {
		return chains, err
	}
	var rules []NFTRule
	err = nftDump(ctx, unix.NFT_MSG_GETRULE, func(b []byte) error {
		r, err := ParseNFTRule(b)
		rules = append(rules, r)
		return err
	})
	CountNFTRules(chains, rules)
	for i := range chains {
		chains[i].Cut = len(rules) >= maxNFTRules
	}
	return chains, err
}

// nftDump requests all objects of a kind and parses each. A kernel without nf_tables has none.
func nftDump(ctx context.Context, kind int, read func(b []byte) error) error {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|kind, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC})
	var bad error
	n := 0
	err := req.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(b []byte) bool {
		if bad = errors.Join(ctx.Err(), read(b)); bad != nil {
			return false
		}
		n++
		return n < maxNFTRules
	})
	switch {
	case bad != nil:
		return bad
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, nl.ErrDumpInterrupted):
		return nil
	}
	return err
}

// legacy is one family of iptables.
type legacy struct {
	family string
	chains []model.FirewallChain
	err    error
}

// legacyTables lists the iptables tables in use, by family. nil: neither family is loaded.
func (l Live) legacyTables() []legacy {
	var out []legacy
	for _, f := range []struct {
		name, file           string
		domain, level, query int
	}{
		// IPT_SO_GET_INFO and IP6T_SO_GET_INFO are both the base, 64.
		{"ip", "/proc/net/ip_tables_names", unix.AF_INET, unix.IPPROTO_IP, 64},
		{"ip6", "/proc/net/ip6_tables_names", unix.AF_INET6, unix.IPPROTO_IPV6, 64},
	} {
		names, err := l.ReadFile(f.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		one := legacy{family: f.name, err: err}
		for _, table := range strings.Fields(string(names)) {
			rules, err := iptRules(f.domain, f.level, f.query, table)
			one.err = errors.Join(one.err, err)
			if err == nil && rules > 0 {
				one.chains = append(one.chains, model.FirewallChain{By: "ip_tables", Family: f.name, Table: table, Rules: rules})
			}
		}
		out = append(out, one)
	}
	return out
}

// iptRules asks how many rules a table has. The table must be in use, or the kernel would load
// it.
func iptRules(domain, level, query int, table string) (int, error) {
	if len(table) >= 32 {
		return 0, fmt.Errorf("table %q: %w", table, unix.EINVAL)
	}
	fd, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return 0, err
	}
	var info [iptInfoLen]byte
	copy(info[:], table)
	size := uint32(len(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(query),
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0)
	if err := unix.Close(fd); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, fmt.Errorf("table %s: %w", table, errno)
	}
	return ParseIPTInfo(info[:])
}

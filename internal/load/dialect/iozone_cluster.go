package dialect

import (
	"slices"
	"strconv"
	"strings"
)

// Cluster is what iozone's file of clients says (-+m): each line is a client that runs one
// process, its directory, and its iozone, which is not run here.
type Cluster struct {
	Hosts   []string
	Dir     string
	PerHost int // processes
}

// IozoneClients takes -+m FILE out of iozone's options; an empty file: it is not among them.
func IozoneClients(args []string) (file string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		if args[i] != "-+m" {
			rest = append(rest, args[i])
			continue
		}
		if i++; i == len(args) || file != "" {
			return "", nil, wrong(0, "-+m needs one file of clients behind it")
		}
		file = args[i]
	}
	return file, rest, nil
}

// IozoneCluster reads a file of clients. Hosts that run other numbers of processes, or in
// other directories, are refused.
func IozoneCluster(text string) (Cluster, error) {
	var c Cluster
	count := map[string]int{}
	if len(text) > maxText {
		return c, wrong(0, "the file is larger than %d bytes", maxText)
	}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		switch {
		case len(f) != 3:
			return c, wrong(n+1, "want a client, its directory and its iozone")
		case c.Dir == "":
			c.Dir = f[1]
		case c.Dir != f[1]:
			return c, wrong(n+1, "%s works in %s and another client in %s: that is not supported", f[0], f[1], c.Dir)
		}
		if count[f[0]]++; count[f[0]] == 1 {
			c.Hosts = append(c.Hosts, f[0])
		}
		if len(c.Hosts) > maxTargets || count[f[0]] > maxTargets {
			return c, wrong(n+1, "more than %d clients, or processes on one", maxTargets)
		}
	}
	if len(c.Hosts) == 0 {
		return c, wrong(0, "the file names no client")
	}
	c.PerHost = count[c.Hosts[0]]
	for _, h := range c.Hosts {
		if count[h] != c.PerHost {
			return c, wrong(0, "%s runs %d processes and %s %d: that is not supported", c.Hosts[0], c.PerHost, h, count[h])
		}
	}
	return c, nil
}

// Options are iozone's for one of the clients: -t of all becomes that of each.
func (c Cluster) Options(args []string) ([]string, error) {
	all := len(c.Hosts) * c.PerHost
	out := slices.Clone(args)
	for i, a := range out {
		value, at, ok := "", i, false
		switch {
		case a == "-t" && i+1 < len(out):
			value, at, ok = out[i+1], i+1, true
		case strings.HasPrefix(a, "-t") && len(a) > 2:
			value, ok = a[2:], true
		}
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(value); err != nil || n != all {
			return nil, wrong(0, "-t %s: the file of clients has %d processes", value, all)
		}
		each := strconv.Itoa(c.PerHost)
		if at == i {
			each = "-t" + each
		}
		out[at] = each
		return out, nil
	}
	return nil, wrong(0, "-+m needs -t %d, as many processes as the file of clients has", all)
}

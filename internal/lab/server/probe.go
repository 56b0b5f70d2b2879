package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// await runs lab-probe in the host until the server answers, one of its processes exits, or
// the timeout expires.
func (s *Server) await(ctx context.Context, h Host, p plan, probe []string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin+5*time.Second)
	defer cancel()
	for _, proc := range s.procs {
		go func() {
			select {
			case <-proc.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	argv := slices.Concat(s.spec.Self, []string{"lab-probe", answerWithin.String()}, probe)
	out, err := h.Run(ctx, argv...)
	if err == nil {
		return nil
	}
	for i, proc := range s.procs {
		select {
		case <-proc.Done():
			return fmt.Errorf("%s ended at once: %s (logs: %s)", p.daemons[i][0], s.said(p.daemons[i][0], nil), s.Logs())
		default:
		}
	}
	last := p.daemons[len(p.daemons)-1][0]
	return fmt.Errorf("it does not answer: %w: %s (logs: %s)", err, s.said(last, out), s.Logs())
}

// exchange is the first exchange of a protocol on an open connection.
type exchange func(c net.Conn, args []string) error

func exchanges() map[string]exchange {
	return map[string]exchange{
		"nfs":     nfsExchange,
		"portmap": func(c net.Conn, _ []string) error { return isMapped(c, portmapProg) },
		"nfs4":    func(c net.Conn, _ []string) error { return nfsNull(c, 4) },
		"smb":     func(c net.Conn, _ []string) error { return smbExchange(c) },
		"iscsi":   iscsiExchange,
		"ssh":     func(c net.Conn, _ []string) error { return sshExchange(c) },
	}
}

// ProbeMain is the hidden subcommand lab-probe TIMEOUT KIND ADDR:PORT
// [ARGUMENT...]: it connects again and again until the server there answers with the first
// exchange of its protocol, or TIMEOUT expires. It returns the exit status.
func ProbeMain(args []string, stderr io.Writer) int {
	if err := probe(args); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func probe(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("probe server: want TIMEOUT KIND ADDR:PORT, have %q", args)
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("probe server: %w", err)
	}
	talk, ok := exchanges()[args[1]]
	if !ok {
		return fmt.Errorf("probe server: no such protocol: %q", args[1])
	}
	if _, err := netip.ParseAddrPort(args[2]); err != nil {
		return fmt.Errorf("probe server: %w", err)
	}
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(d); ; time.Sleep(pause) {
		err = tryOnce(args[2], talk, args[3:])
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("probe %s at %s for %v: %w", args[1], args[2], d, err)
		}
	}
}

// tryOnce bounds one try: a server that accepts while it still starts may
// forget the first request.
func tryOnce(addr string, talk exchange, args []string) error {
	const patience = 2 * time.Second
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return talk(c, args)
}

// at returns ADDR:PORT of the server.
func (s *Server) at(port int) string {
	return net.JoinHostPort(s.addr.String(), strconv.Itoa(port))
}

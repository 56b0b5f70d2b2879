package kernel

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The handles that mark disciplines set by linerate. There are two because the kernel does not
// change the kind of a discipline under its handle.
func ourHandles() [2]uint32 {
	return [2]uint32{netlink.MakeHandle(0x11fe, 0), netlink.MakeHandle(0x11ff, 0)}
}

// ReadQdisc reads the queueing discipline of an interface.
func ReadQdisc(ifname string) (Qdisc, error) {
	_, q, _, err := rootQdisc(ifname)
	return q, err
}

// rootQdisc also returns the root's handle, 0 for the kernel's own.
func rootQdisc(ifname string) (link netlink.Link, out Qdisc, handle uint32, err error) {
	fail := func(err error) (netlink.Link, Qdisc, uint32, error) {
		return nil, Qdisc{}, 0, fmt.Errorf("read queueing discipline of %s: %w", ifname, err)
	}
	if link, err = netlink.LinkByName(ifname); err != nil {
		return fail(err)
	}
	list, err := netlink.QdiscList(link)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return fail(err)
	}
	out = Qdisc{Default: true, MaxRate: NoMaxRate}
	for _, q := range list {
		a := q.Attrs()
		switch {
		case a.Parent == netlink.HANDLE_INGRESS:
		case a.Parent != netlink.HANDLE_ROOT && a.Handle != 0:
			out.Below = append(out.Below, q.Type()+" "+netlink.HandleStr(a.Handle))
		case a.Parent == netlink.HANDLE_ROOT:
			ours := ourHandles()
			handle, out.Kind, out.Default, out.Ours = a.Handle, q.Type(), a.Handle == 0, a.Handle == ours[0] || a.Handle == ours[1]
			if fq, ok := q.(*netlink.Fq); ok {
				out.MaxRate = fq.FlowMaxRate
			}
		}
	}
	return link, out, handle, nil
}

// SetQdisc sets a discipline of a kind, with the kernel's default parameters, at the root of an
// interface; an empty kind restores the kernel's default. ENOENT: the kernel has no such kind.
func SetQdisc(ifname, kind string) error {
	link, _, now, err := rootQdisc(ifname)
	if err != nil {
		return err
	}
	q := &netlink.GenericQdisc{QdiscType: kind, QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT}}
	if kind == "" {
		if now == 0 {
			return nil
		}
		if err := netlink.QdiscDel(q); err != nil {
			return fmt.Errorf("give the queue of %s back to the kernel: %w", ifname, err)
		}
		return nil
	}
	ours := ourHandles()
	if q.Handle = ours[0]; now == ours[0] {
		q.Handle = ours[1]
	}
	if err := netlink.QdiscReplace(q); err != nil {
		return fmt.Errorf("put %s on %s: %w", kind, ifname, err)
	}
	return nil
}

// SetFQMaxRate limits each connection of the fq at the root of an interface, in bytes/s, and
// keeps its other parameters.
func SetFQMaxRate(ifname string, rate uint32) error {
	link, now, handle, err := rootQdisc(ifname)
	if err != nil {
		return err
	}
	if now.Kind != "fq" || handle == 0 {
		return fmt.Errorf("pace %s: its root is %q (handle %s), want an fq with a handle: %w", ifname, now.Kind, netlink.HandleStr(handle), unix.EOPNOTSUPP)
	}
	req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(link.Attrs().Index), Handle: handle, Parent: netlink.HANDLE_ROOT})
	req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("fq")))
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_FQ_FLOW_MAX_RATE, nl.Uint32Attr(rate))
	req.AddData(options)
	if _, err := req.Execute(unix.NETLINK_ROUTE, 0); err != nil {
		return fmt.Errorf("pace %s: %w", ifname, err)
	}
	return nil
}

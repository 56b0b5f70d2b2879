package kernel

import (
	"fmt"
	"maps"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// ethnl is a socket to the generic netlink family "ethtool", which exists since Linux 5.6 and
// needs no privilege, in the calling thread's network namespace.
type ethnl struct{ family uint16 }

func openEthnl() (ethnl, error) {
	req := nl.NewNetlinkRequest(nl.GENL_ID_CTRL, 0)
	req.AddData(genl{nl.GENL_CTRL_CMD_GETFAMILY, nl.GENL_CTRL_VERSION})
	req.AddData(nl.NewRtAttr(nl.GENL_CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated("ethtool")))
	msgs, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil || len(msgs) != 1 || len(msgs[0]) < nl.SizeofGenlmsg {
		return ethnl{}, fmt.Errorf("find ethtool's netlink family (Linux 5.6): %w", unix.EOPNOTSUPP)
	}
	attrs, err := nl.ParseRouteAttr(msgs[0][nl.SizeofGenlmsg:])
	if err != nil {
		return ethnl{}, fmt.Errorf("find ethtool's netlink family: %w", err)
	}
	for _, a := range attrs {
		if a.Attr.Type == nl.GENL_CTRL_ATTR_FAMILY_ID && len(a.Value) >= 2 {
			return ethnl{nl.NativeEndian().Uint16(a.Value)}, nil
		}
	}
	return ethnl{}, fmt.Errorf("find ethtool's netlink family: the answer has no number: %w", unix.EINVAL)
}

// genl is the header of a generic netlink request: command, version, and two reserved bytes that
// have to be zero. The library's nl.Genlmsg is two bytes long and is sent as four: what lies
// beside it in memory goes along, which another thread may be writing and newer kernels refuse.
type genl [nl.SizeofGenlmsg]byte

func (g genl) Len() int { return len(g) }

func (g genl) Serialize() []byte { return g[:] }

// ask sends one command about an interface and returns the answer's payload.
func (e ethnl) ask(ifname string, command uint8) ([]byte, error) {
	req := nl.NewNetlinkRequest(int(e.family), 0)
	req.AddData(genl{command, 1})
	const nested = 1 << 15
	header := nl.NewRtAttr(1|nested, nil)
	header.AddRtAttr(2, nl.ZeroTerminated(ifname))
	flags := uint32(ethnlCompact)
	if command == ethnlPause || command == ethnlFEC {
		flags |= ethnlStats
	}
	header.AddRtAttr(3, nl.Uint32Attr(flags))
	req.AddData(header)
	msgs, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, err
	}
	if len(msgs) != 1 {
		return nil, fmt.Errorf("%d answers: %w", len(msgs), unix.EINVAL)
	}
	return msgs[0], nil
}

// answer asks and decodes.
func answer[T any](e ethnl, ifname string, command uint8, parse func([]byte) (T, error)) model.Fact[T] {
	b, err := e.ask(ifname, command)
	if err != nil {
		return lost[T](err)
	}
	v, err := parse(b)
	if err != nil {
		return model.Unknown[T](model.Unsupported, err.Error())
	}
	return model.Known(v)
}

// fillEthnl adds to p what only netlink reports.
func (p *Port) fillEthnl(ifname string) {
	e, err := openEthnl()
	if err != nil {
		p.Ring, p.Channels, p.Coalesce = lost[model.Ring](err), lost[model.Channels](err), lost[model.Coalesce](err)
		p.Pause, p.FEC, p.Modes = lost[model.Pause](err), lost[string](err), lost[model.LinkModes](err)
		return
	}
	p.Counters = map[string]int64{}
	p.Ring = model.Unknown[model.Ring](model.Unsupported, unaskable(p.Driver.Value))
	if p.Ring.Why == "" {
		p.Ring = answer(e, ifname, ethnlRings, ParseEthRings)
	}
	p.Channels = answer(e, ifname, ethnlChannels, ParseEthChannels)
	p.Coalesce = answer(e, ifname, ethnlCoalesce, ParseEthCoalesce)
	p.Modes = answer(e, ifname, ethnlLinkModes, ParseEthLinkModes)
	p.Pause = answer(e, ifname, ethnlPause, func(b []byte) (model.Pause, error) {
		pause, counters, err := ParseEthPause(b)
		maps.Copy(p.Counters, counters)
		return pause, err
	})
	p.FEC = answer(e, ifname, ethnlFEC, func(b []byte) (string, error) {
		mode, counters, err := ParseEthFEC(b)
		maps.Copy(p.Counters, counters)
		return mode, err
	})
	if p.FEC.State == model.Present && p.FEC.Value == "" {
		p.FEC = model.Unknown[string](model.Unsupported, "the driver names no FEC in effect")
	}
}

// Pauses reads the counters through netlink (since Linux 5.8).
func (Live) Pauses(ifname string) *model.PauseCount {
	e, err := openEthnl()
	if err != nil {
		return nil
	}
	b, err := e.ask(ifname, ethnlPause)
	if err != nil {
		return nil
	}
	_, counters, err := ParseEthPause(b)
	if err != nil {
		return nil
	}
	return Port{Counters: counters}.Pauses()
}

package windows

import (
	"net/netip"
	"regexp"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// dialects are as Windows writes them.
var dialects = regexp.MustCompile(`^[123](\.[0-9]{1,2}){1,2}$`)

// shares are the connections to shares of SMB servers, which are mounts in all but name: each share
// once, with the options that Linux would show. Windows shows neither the sizes of requests nor the
// interface.
func (r reading) shares() {
	for _, one := range r.rows("smbconnections", "the dialect, signing and encryption of each share that is in use", true) {
		server, share, dialect := one.text("ServerName"), one.text("ShareName"), one.text("Dialect")
		if server == "" || share == "" || !dialects.MatchString(dialect) {
			r.odd("smbconnections", "a connection of dialect "+dialect)
			continue
		}
		if dialect == "1.5" { // NT LM 0.12
			dialect = "1.0"
		}
		if dialect == "2.0.2" {
			dialect = "2.0"
		}
		point := `\\` + server + `\` + share
		if share == "IPC$" || slices.ContainsFunc(r.f.Mounts, func(m model.Mount) bool { return m.Point == point }) {
			continue
		}
		m := model.Mount{Source: point, Point: point, Type: "smb", Options: map[string]string{"vers": dialect, "proto": "tcp"}}
		for property, option := range map[string]string{"Signed": "sign", "Encrypted": "seal"} {
			if on, known := one.yes(property); known && on {
				m.Options[option] = ""
			}
		}
		r.f.Mounts = append(r.f.Mounts, m)
		const why = "no cmdlet that is asked shows it"
		to, _ := netip.ParseAddr(server) // a name has none
		r.f.Storage = append(r.f.Storage, model.NetMount{
			Point: point, Type: m.Type, Server: to, Port: 445, Proto: "tcp",
			Conns: model.Unknown[int](model.Unsupported, why), MinRTT: model.Unknown[model.Nanos](model.Unsupported, why),
			Ahead: model.Unknown[unit.Bytes](model.Unsupported, why),
		})
	}
}

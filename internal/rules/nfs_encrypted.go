package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nfsEncrypted() Rule {
	return Rule{
		ID:     "nfs-encrypted",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "With privacy or integrity protection a core encrypts or signs every byte of NFS.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				sec, tls := o["sec"], o["xprtsec"]
				work := sec == "krb5p" || sec == "krb5i" || tls == "tls" || tls == "mtls"
				if !isNFS(m) || !work || speedTo(f, m) < veryFast {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: "a core protects each byte of " + m.Point,
					Observed: fmt.Sprintf("%s: sec=%s xprtsec=%s, by a port of %s", m.Point, sec, tls, speedTo(f, m)),
					Fix:      "keep it where the network is not trusted" + bySystem(f, map[string]string{"": "; spread it over cores with nconnect", "freebsd": "; spread it over connections with nconnect (NFS 4.1 and later)", "macos": ""}),
					Source:   mountManual(f, bySystem(f, map[string]string{"": "sec, xprtsec", "freebsd": "sec, tls", "macos": "sec"})) + "; RFC 2203; RFC 9289",
				}
			})
		},
	}
}

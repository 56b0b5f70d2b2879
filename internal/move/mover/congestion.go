package mover

import (
	"os"
	"strings"
)

// allowedFile names the congestion controls that any user may set on a connection.
const allowedFile = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"

// allowed are the congestion controls that any user of this host may set; none where it does not
// say.
func allowed() []string {
	b, err := os.ReadFile(allowedFile)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

package setter

import (
	"fmt"
	"strconv"
	"strings"
)

// queuePrefix is the prefix of this mechanism's ids; the name of the file in the queue's
// directory follows.
const queuePrefix = "linux.queue."

// Queues sets packet steering for the queues of an interface
// (Documentation/networking/scaling.rst): rps_cpus and xps_cpus are masks of CPUs in hexadecimal
// ("f", "ff,ffffffff"), rps_flow_cnt a number of flows, which the kernel rounds up to a power of
// two. A value is for all queues, or "rx-0=1 rx-1=2 …" where they differ.
func Queues(tree Tree, ifname func(device string) (string, error)) Setter {
	return spreads{
		owns: func(setting string) bool { return queueSide(setting) != "" },
		of: func(at Place) spread {
			file := strings.TrimPrefix(at.Setting, queuePrefix)
			s := spread{
				tree: tree, word: queueWord, found: queueFound, filter: queueFilter, check: queueCheck,
				members: func(at Place) ([]member, error) {
					name, err := ifname(at.Target)
					if err != nil {
						return nil, err
					}
					return membersIn(tree, "/sys/class/net/"+name+"/queues", queueSide(at.Setting), file)
				},
				programs: interfacePrograms(at.Target),
				list: func(at Place) (string, error) {
					find, err := shellInterface(at.Target)
					return listNumbered(`"/sys/class/net/$(`+find+`)/queues"`, queueSide(at.Setting), file), err
				},
			}
			return s
		},
	}
}

// queueSide is the name prefix of the queues that have the setting; empty if the setting does not
// belong to this mechanism.
func queueSide(setting string) string {
	return map[string]string{queuePrefix + "rps_cpus": "rx-", queuePrefix + "rps_flow_cnt": "rx-", queuePrefix + "xps_cpus": "tx-"}[setting]
}

func queueCheck(at Place) error {
	if queueSide(at.Setting) == "" {
		return fmt.Errorf("queues %s: want %srps_cpus, rps_flow_cnt or xps_cpus: %w", at, queuePrefix, ErrValue)
	}
	_, err := shellInterface(at.Target)
	return err
}

// queueFound drops the leading zeros of a mask; a number of flows has none.
func queueFound(text string) string {
	s := strings.TrimSpace(text)
	if t := strings.TrimLeft(s, "0,"); t != "" || s == "" {
		return t
	}
	return "0"
}

const queueFilter = `{ read -r mask; while :; do case "$mask" in [0,]?*) mask=${mask#?} ;; *) break ;; esac; done; echo "$mask"; }`

func queueWord(at Place, s string) (string, error) {
	if at.Setting == queuePrefix+"rps_flow_cnt" {
		// The kernel would accept 2^29, and allocate memory for all of them at once; its
		// documentation has 32768 for a busy server.
		n, err := numberIn(at, "flows", s, limits{0, 1 << 20, false})
		return strconv.FormatInt(n, 10), err
	}
	digits := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(s, ",", ""), "0x"))
	if digits == "" || strings.Trim(digits, "0123456789abcdef") != "" || len(digits) > maskDigits {
		return "", fmt.Errorf("value of %s: %q is no mask of CPUs in hexadecimal, at most %d digits: %w", at, s, maskDigits, ErrValue)
	}
	digits = queueFound(digits)
	for at := len(digits) - 8; at > 0; at -= 8 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits, nil
}

// maskDigits are 8192 CPUs, the most that Linux supports (arch/x86/Kconfig, NR_CPUS).
const maskDigits = 8192 / 4

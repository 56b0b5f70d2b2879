package script

import (
	"fmt"
	"strings"
)

// rcConf is read by sh when the host starts.
const rcConf = "/etc/rc.conf"

// rcInterface adds words to what an interface starts with: a line of linerate's, behind the host's
// own, assigns ifconfig_IX0 what it has and the words, so that addresses and DHCP stay. Without a
// line of the host's own it is refused: the words would stand alone, in place of
// ifconfig_DEFAULT. So it is where a file that is read later assigns ifconfig_IX0 too.
func rcInterface(setting, name string) Mechanism {
	variable := "ifconfig_" + name
	// Two spellings of one thing tell the lines of two settings apart.
	reference, first := "${"+variable+"}", "mtu "
	if setting == freebsdOffload {
		reference, first = "$"+variable, ""
	}
	text := variable + `="` + reference + " " + first
	m := line(rcConf, "#", strings.ReplaceAll(text, " ", ""), `"`, text)
	value, words := "", ""
	if setting == freebsdOffload {
		value, words = offloadWords()
		m.Write = `words=unset && if [ "$value" != unset ]; then ` + words + `; fi && ` + strings.Replace(m.Write, `"$value"`, `"$words"`, 1)
	}
	at := `"$root` + rcConf + `"`
	// The last assignment counts: one of somebody else's behind linerate's makes those unset.
	m.Read = "last=$(file_get " + at + " " + Quote(variable+"=") + ` '') && case $last in ` + Quote(reference) + `[a-z-]* | ` + Quote("${"+variable+"}") + `mtu* | ` + Quote("$"+variable) + `[a-z-]*) ;; *) echo unset; return ;; esac && ` +
		"got=$(" + m.Read + `) && ` + valueOf(value)
	m.Ready = "{ " + m.Ready + "; } && { file_says " + at + " '#' " + variable + ` || { echo "` + rcConf + " has no " + variable + `= of its own, and what the interface starts with now would be lost: give it a line there first"; false; }; } && ` +
		`for other in rc.conf.local rc.conf.d/netif rc.conf.d/network; do if file_says "$root/etc/$other" '#' ` + variable + `; then echo "/etc/$other has ` + variable + `= too, which is read later: change it there"; false; return; fi; done`
	return m
}

// valueOf has "got", the words without blanks, printed as the value that they are.
func valueOf(arms string) string {
	if arms == "" {
		return `printf '%s\n' "$got"`
	}
	return "case $got in unset) echo unset ;; " + arms + ` *) echo "$got is nothing that linerate wrote" >&2; false ;; esac`
}

// offloadWords are the arms of a case that turns words of ifconfig without blanks into a value, as
// lro=on,tso4=off,tso6=on, and commands that turn "$value" into "$words".
func offloadWords() (arms, words string) {
	for i := range 8 {
		var joined, value []string
		for bit, word := range []string{"lro", "tso4", "tso6"} {
			sign, state := "", "on"
			if i>>bit&1 == 1 {
				sign, state = "-", "off"
			}
			joined, value = append(joined, sign+word), append(value, word+"="+state)
		}
		arms += fmt.Sprintf("%s) echo %s ;; ", strings.Join(joined, ""), strings.Join(value, ","))
	}
	return arms, `words= && for want in $(printf '%s\n' "$value" | tr , ' '); do ` +
		`case $want in *=on) words="$words${words:+ }${want%=on}" ;; *=off) words="$words${words:+ }-${want%=off}" ;; esac; done`
}

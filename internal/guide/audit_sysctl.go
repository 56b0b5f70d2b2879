package guide

import (
	"strings"

	"linerate/internal/model"
)

// sysctlLines reads the sysctl files in the order of sysctl.d(5): by name over all folders,
// where a file in a folder of higher rank hides files of the same name. /etc/sysctl.conf comes
// where a link in sysctl.d puts it, or last if there is none, as with sysctl --system. An
// active TuneD reapplies /etc and /run, not /usr, after its profile (reapply_sysctl in
// tuned-main.conf(5)).
func sysctlLines(h model.HostFiles) []placed {
	const conf = "/etc/sysctl.conf"
	paths := byName(h, ".conf", "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
	linked := false
	for _, p := range paths {
		linked = linked || h.Links[p] == conf
	}
	if _, ok := h.Files[conf]; ok && !linked {
		paths = append(paths, conf)
	}
	var out []placed
	for _, path := range paths {
		at := stageSysctl
		if tunedActive(h) != "" && (strings.HasPrefix(path, "/etc/") || strings.HasPrefix(path, "/run/")) && reapplies(h) {
			at = stageSysctl2
		}
		list := parseSysctl(h.Files[path], h.OS)
		if path == conf && systemd(h) {
			unread(list)
		}
		out = append(out, place(path, at, list)...)
	}
	return out
}

// systemd tells whether the tree has any file of systemd.
func systemd(h model.HostFiles) bool {
	for path := range h.Files {
		if strings.HasPrefix(path, "/usr/lib/systemd/") || strings.HasPrefix(path, "/lib/systemd/") {
			return true
		}
	}
	return false
}

// unread notes on each line of a sysctl.conf without a link in sysctl.d which program reads
// it.
func unread(list []assignment) {
	for i := range list {
		note := "which sysctl --system reads, but systemd does not read at boot: no link in sysctl.d points to it"
		if list[i].by != "" {
			note = list[i].by + ", " + note
		}
		list[i].by = note
	}
}

// reapplies tells whether TuneD applies the files of /etc and /run again.
func reapplies(h model.HostFiles) bool {
	for _, e := range parseINI(h.Files["/etc/tuned/tuned-main.conf"]) {
		if e.key == "reapply_sysctl" {
			return on(e.value) == "on"
		}
	}
	return true
}

// printedForm is the note on a line "NAME: VALUE", a form that some guides show.
const printedForm = "in the form that BSD's sysctl prints, which no sysctl reads from a file"

// parseSysctl reads the lines NAME = VALUE of a sysctl file of a system. A leading "-" (ignore
// errors) is dropped; with it and without a value a line only excludes names from a pattern.
func parseSysctl(text, os string) []assignment {
	var out []assignment
	by, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] == '#' || line[0] == ';' {
			by = block(line, by)
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name, value, as := strings.Cut(line, ": "); as && !ok && strings.Contains(name, ".") && !strings.ContainsAny(name, " \t") {
			out = append(out, assignment{id: os + ".sysctl." + name, name: name, value: canonical(value), line: n, by: printedForm, inert: true})
			continue
		}
		name = sysctlName(strings.TrimPrefix(strings.TrimSpace(name), "-"))
		if !ok || name == "" {
			continue
		}
		out = append(out, assignment{id: os + ".sysctl." + name, name: name, value: canonical(unquote(value)), line: n, by: by})
	}
	return out
}

// block recognises the comments that the Mellanox driver package puts around the lines that it
// adds: "## MLXNET tuning parameters ##" … "## END MLXNET ##".
func block(comment, by string) string {
	words := strings.Fields(strings.Trim(comment, "#; "))
	switch {
	case len(words) >= 2 && words[0] == "END" && strings.HasPrefix(words[1], "MLX"):
		return ""
	case len(words) >= 2 && strings.HasPrefix(words[0], "MLX") && words[1] == "tuning":
		return "added by the installation of the Mellanox driver, as the comments around it say"
	}
	return by
}

// sysctlName converts a name to dots: if its first separator is "/", dots and slashes swap
// (sysctl.d(5)).
func sysctlName(s string) string {
	i := strings.IndexAny(s, "./")
	if i < 0 || s[i] == '.' {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '/':
			return '.'
		case '.':
			return '/'
		}
		return r
	}, s)
}

// unquote trims space and one pair of quotes.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// on converts a boolean to ethtool's "on" or "off"; other words stay as they are.
func on(s string) string {
	switch strings.ToLower(s) {
	case "1", "y", "yes", "true", "on":
		return "on"
	case "0", "n", "no", "false", "off":
		return "off"
	}
	return s
}

package facts

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// fileServer is a program that serves directories by a configuration file.
type fileServer struct {
	comm    string
	flags   []string // that name the file, with the value behind them or behind "="
	usual   string   // where it is without such a flag
	configs func(text string) []model.Share
}

// fileServers: smbd(8) and smb.conf(5); ganesha.nfsd and ganesha-export-config(8).
func fileServers() []fileServer {
	return []fileServer{
		{"smbd", []string{"-s", "--configfile"}, "/etc/samba/smb.conf", parseSamba},
		{"ganesha.nfsd", []string{"-f"}, "/etc/ganesha/ganesha.conf", parseGanesha},
	}
}

// sharesOf is what process pid serves; nothing where it is no file server, was started by
// another user than root or the reader, or serves a directory that is another one here.
func sharesOf(src kernel.Source, pid, comm string, uid int) (out []model.Share) {
	i := slices.IndexFunc(fileServers(), func(s fileServer) bool { return s.comm == comm })
	if i < 0 || !trusted(src, pid, uid) {
		return nil
	}
	s := fileServers()[i]
	args, err := src.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		return nil
	}
	text, err := src.ReadFile("/proc/" + pid + "/root" + s.config(strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")))
	if err != nil {
		return nil
	}
	here, err1 := src.ReadFile("/proc/self/mountinfo")
	there, err2 := src.ReadFile("/proc/" + pid + "/mountinfo")
	if err1 != nil || err2 != nil {
		return nil
	}
	for _, sh := range s.configs(string(text)) {
		if sameDirectory(string(here), string(there), sh.Path) {
			out = append(out, sh)
		}
	}
	return out
}

// config finds the configuration file in the words of a command line.
func (s fileServer) config(args []string) string {
	for i, a := range args {
		for _, flag := range s.flags {
			switch value, joined := strings.CutPrefix(a, flag+"="); {
			case joined && path.IsAbs(value):
				return path.Clean(value)
			case a == flag && i+1 < len(args) && path.IsAbs(args[i+1]):
				return path.Clean(args[i+1])
			}
		}
	}
	return s.usual
}

// trusted tells whether a process is root's or the reader's own: what another user's is
// called, and which file it names, is that user's to choose.
func trusted(src kernel.Source, pid string, uid int) bool {
	b, err := src.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			n, err := strconv.Atoi(f[1])
			return err == nil && (n == 0 || n == uid)
		}
	}
	return false
}

// sameDirectory tells whether two tables of mounts (proc_pid_mountinfo(5)) have the same
// directory at a path: the same place on the same file system. A server in a container may
// have another one there.
func sameDirectory(here, there, dir string) bool {
	a, okA := placeOf(here, dir)
	b, okB := placeOf(there, dir)
	return okA && okB && a == b
}

// placeOf is the device of a directory and the directory's name on it. Of two mounts at one
// point the later hides the other.
func placeOf(mountinfo, dir string) (place string, ok bool) {
	longest := -1
	for line := range strings.Lines(mountinfo) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		root, point := kernel.Unescape(f[3]), kernel.Unescape(f[4])
		rest, within := strings.CutPrefix(dir+"/", strings.TrimSuffix(point, "/")+"/")
		if within && len(point) >= longest {
			longest, place = len(point), f[2]+":"+path.Join("/", root, rest)
		}
	}
	return place, longest >= 0
}

func distinct(all []model.Share) []model.Share {
	slices.SortFunc(all, func(a, b model.Share) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return slices.Compact(all)
}

// parseSamba reads the shares of an smb.conf(5) that have one directory for all: a path with
// a macro (%U) is another one for each user, and what an included file says is not seen.
func parseSamba(text string) (out []model.Share) {
	var at model.Share
	end := func() {
		if at.Name != "" && path.IsAbs(at.Path) && !strings.Contains(at.Path, "%") {
			at.Path = path.Clean(at.Path)
			out = append(out, at)
		}
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			end()
			name, _, _ := strings.Cut(line[1:], "]")
			at = model.Share{Protocol: "smb", Name: "/" + strings.TrimSpace(name)}
			if slices.Contains([]string{"/global", "/homes", "/printers", "/print$", "/"}, strings.ToLower(at.Name)) || strings.Contains(at.Name[1:], "/") {
				at.Name = ""
			}
		default:
			key, value, _ := strings.Cut(line, "=")
			if k := strings.ToLower(strings.Join(strings.Fields(key), "")); k == "path" || k == "directory" {
				at.Path = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	end()
	return out
}

// parseGanesha reads the blocks EXPORT { Path = …; Pseudo = …; } of a ganesha.conf. What an
// included file says is not seen.
func parseGanesha(text string) (out []model.Share) {
	depth, block, words := 0, "", ganeshaWords(text)
	var at model.Share
	for i, w := range words {
		switch {
		case w == "{":
			if depth++; depth == 1 && i > 0 {
				block, at = strings.ToLower(words[i-1]), model.Share{Protocol: "nfs"}
			}
		case w == "}":
			if depth--; depth == 0 && block == "export" && path.IsAbs(at.Name) && path.IsAbs(at.Path) {
				at.Name, at.Path = path.Clean(at.Name), path.Clean(at.Path)
				out = append(out, at)
			}
			if depth < 0 {
				return out
			}
		case w == "=" && depth == 1 && i > 0 && i+1 < len(words):
			switch strings.ToLower(words[i-1]) {
			case "path":
				at.Path = words[i+1]
			case "pseudo":
				at.Name = words[i+1]
			}
		}
	}
	return out
}

// ganeshaWords splits a configuration into words, quoted texts and signs, without comments.
func ganeshaWords(text string) (out []string) {
	for text != "" {
		c := text[0]
		switch {
		case c == '#':
			_, text, _ = strings.Cut(text, "\n")
		case c == '"' || c == '\'':
			word, rest, _ := strings.Cut(text[1:], string(c))
			out, text = append(out, word), rest
		case strings.IndexByte("{}=;", c) >= 0:
			out, text = append(out, string(c)), text[1:]
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			text = text[1:]
		default:
			n := strings.IndexAny(text, "{}=;#\"' \t\r\n")
			if n < 0 {
				n = len(text)
			}
			out, text = append(out, text[:n]), text[n:]
		}
	}
	return out
}

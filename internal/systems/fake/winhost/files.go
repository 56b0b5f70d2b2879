package winhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/systems/fake/powershell"
)

func path(a map[string]any, name string) string { return powershell.Text(a[name]) }

// files are the cmdlets of the file system.
func (h *Host) files() map[string]powershell.Cmdlet {
	return map[string]powershell.Cmdlet{
		"test-path": {Params: []string{"LiteralPath"}, Run: func(a map[string]any) ([]any, error) {
			_, err := os.Lstat(h.real(path(a, "literalpath")))
			return []any{err == nil}, nil
		}},
		"split-path": {Params: []string{"Path", "Parent"}, Switches: []string{"Parent"}, Run: func(a map[string]any) ([]any, error) {
			p := path(a, "path")
			return []any{p[:strings.LastIndexByte(p, '\\')]}, nil
		}},
		"get-item":      {Params: []string{"LiteralPath", "Force"}, Switches: []string{"Force"}, Run: h.item},
		"get-childitem": {Params: []string{"LiteralPath", "Force"}, Switches: []string{"Force"}, Run: h.children},
		"new-item": {Params: []string{"ItemType", "Path"}, Run: func(a map[string]any) ([]any, error) {
			if path(a, "itemtype") != "Directory" || slices.Contains(h.how, "noadmin") {
				return nil, denied("Zugriff verweigert")
			}
			return []any{"made"}, h.effect("new-item", func() error { return failed(os.MkdirAll(h.real(path(a, "path")), 0o700)) })
		}},
		"remove-item": {Params: []string{"LiteralPath", "Force"}, Switches: []string{"Force"}, Run: func(a map[string]any) ([]any, error) {
			return nil, h.effect("remove-item", func() error { return failed(os.Remove(h.real(path(a, "literalpath")))) })
		}},
		"move-item": {Params: []string{"LiteralPath", "Destination", "Force"}, Switches: []string{"Force"}, Run: h.move},
		"get-acl":   {Params: []string{"LiteralPath"}, Run: h.getACL},
		"set-acl": {Params: []string{"LiteralPath", "AclObject"}, Run: func(a map[string]any) ([]any, error) {
			acl, ok := a["aclobject"].(*powershell.Thing)
			if !ok {
				return nil, powershell.Errorf("no AclObject")
			}
			sddl, _ := acl.Get("Sddl")
			return nil, h.effect("set-acl", func() error {
				h.data.Secured[strings.ToLower(path(a, "literalpath"))] = sddl == `O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)`
				return h.save()
			})
		}},
	}
}

// failed is an error of .NET.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &powershell.Error{Message: "E/A-Fehler: " + err.Error(), Type: "System.IO.IOException", Category: "WriteError"}
}

func (h *Host) item(a map[string]any) ([]any, error) {
	info, err := os.Lstat(h.real(path(a, "literalpath")))
	if err != nil {
		return nil, none("Der Pfad wurde nicht gefunden")
	}
	attributes := "Archive"
	if info.IsDir() {
		attributes = "Directory"
	} else if info.Mode()&os.ModeSymlink != 0 {
		attributes = "Directory, ReparsePoint"
	}
	return []any{powershell.Object("System.IO.FileSystemInfo", "Name", info.Name(), "Attributes", attributes)}, nil
}

func (h *Host) children(a map[string]any) (out []any, err error) {
	all, err := os.ReadDir(h.real(path(a, "literalpath")))
	for _, e := range all {
		out = append(out, powershell.Object("System.IO.FileSystemInfo", "Name", e.Name()))
	}
	return out, failed(err)
}

// move replaces in two steps, as Move-Item -Force does.
func (h *Host) move(a map[string]any) ([]any, error) {
	from, to := h.real(path(a, "literalpath")), h.real(path(a, "destination"))
	if _, err := os.Stat(to); err == nil {
		if a["force"] != true {
			return nil, failed(os.ErrExist)
		}
		if err := h.effect("move-item", func() error { return failed(os.Remove(to)) }); err != nil {
			return nil, err
		}
	}
	return nil, h.effect("move-item", func() error {
		if err := os.Rename(from, to); err != nil {
			return failed(err)
		}
		was := strings.ToLower(path(a, "literalpath"))
		if !h.data.Secured[was] {
			return nil
		}
		delete(h.data.Secured, was)
		h.data.Secured[strings.ToLower(path(a, "destination"))] = true
		return h.save()
	})
}

// getACL shows who may write: administrators alone in what they have secured, others elsewhere.
func (h *Host) getACL(a map[string]any) ([]any, error) {
	sids := []string{"S-1-5-18", "S-1-5-21-1-2-3-1001"}
	for p := strings.ToLower(path(a, "literalpath")); strings.Contains(p, `\`); p = p[:strings.LastIndexByte(p, '\\')] {
		if h.data.Secured[p] {
			sids = []string{"S-1-5-18", "S-1-5-32-544"}
			break
		}
	}
	sid := func(s string) *powershell.Thing {
		return powershell.Object("System.Security.Principal.SecurityIdentifier", "Value", s)
	}
	acl := powershell.Object("System.Security.AccessControl.DirectorySecurity", "Sddl", "")
	acl.Methods["getowner"] = func([]any) (any, error) { return sid(sids[1]), nil }
	acl.Methods["setsecuritydescriptorsddlform"] = func(args []any) (any, error) { acl.Set("Sddl", args[0]); return nil, nil }
	acl.Methods["getaccessrules"] = func([]any) (any, error) {
		var out []any
		for _, s := range sids {
			out = append(out, powershell.Object("FileSystemAccessRule", "IdentityReference", sid(s)))
		}
		return out, nil
	}
	return []any{acl}, nil
}

// file is an open file of .NET.
func (h *Host) file(f *os.File) *powershell.Thing {
	h.open = append(h.open, f)
	t := powershell.Object("System.IO.FileStream")
	t.Methods["write"] = func(args []any) (any, error) {
		b, ok := args[0].([]byte)
		if !ok || len(args) != 3 {
			return nil, powershell.Errorf("Write wants bytes")
		}
		return nil, h.effect("write", func() error { _, err := f.Write(b); return failed(err) })
	}
	t.Methods["flush"] = func([]any) (any, error) { return nil, failed(f.Sync()) }
	t.Methods["dispose"] = func([]any) (any, error) { return nil, failed(f.Close()) }
	return t
}

// openFile are the static methods of [IO.File].
func (h *Host) openFile(member string, args []any) (any, error) {
	at := h.real(powershell.Text(args[0]))
	switch member {
	case "create":
		f, err := os.Create(at)
		if err != nil {
			return nil, failed(err)
		}
		return h.file(f), nil
	case "readalltext":
		b, err := os.ReadFile(at)
		return string(b), failed(err)
	case "open":
		f, err := os.OpenFile(at, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, failed(err)
		}
		// Nobody else can open it until this process ends.
		held, err := os.OpenFile(at+".held", os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			_ = f.Close() // it was not written to
			return nil, failed(err)
		}
		h.open = append(h.open, held)
		return h.file(f), nil
	}
	return nil, powershell.Errorf("[IO.File] has no %s here", member)
}

// Put writes a file of the host.
func (h *Host) Put(p, text string) error {
	at := h.real(p)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return os.WriteFile(at, []byte(text), 0o600)
}

// Tasks are the tasks that are registered.
func (h *Host) Tasks() map[string]string { return h.data.Tasks }

// end closes what a process leaves open.
func (h *Host) end() {
	for _, f := range h.open {
		_ = f.Close() // it may be closed
		if strings.HasSuffix(f.Name(), ".held") {
			_ = os.Remove(f.Name()) // a test that goes on would see it
		}
	}
	h.open = nil
}

package winhost

import (
	"errors"
	"strings"

	"linerate/internal/systems/fake/powershell"
)

// Registry is where a host's registry is, of which only numbers (REG_DWORD) are written. A key is
// named in full: HKEY_LOCAL_MACHINE\….
type Registry interface {
	// Get is a value, ErrNoKey where the key is not there, ErrNoValue where the key has no such
	// value.
	Get(key, name string) (any, error)
	Set(key, name string, n uint32) error
	Delete(key, name string) error
}

// What a registry does not have.
var (
	ErrNoKey   = errors.New("no such key")
	ErrNoValue = errors.New("no such value")
)

// registry is the one that a test gave, or one of the host's state.
func (h *Host) registry() Registry {
	if h.Registry != nil {
		return h.Registry
	}
	return kept(h.data.Registry)
}

// kept is a registry of numbers by "KEY|VALUE": a key is there where it has a value.
type kept map[string]int64

// find finds what is written with other capitals.
func (k kept) find(key, name string) (at string, err error) {
	err = ErrNoKey
	for at := range k {
		has, v, _ := strings.Cut(at, "|")
		if !strings.EqualFold(has, key) {
			continue
		}
		if err = ErrNoValue; strings.EqualFold(v, name) {
			return at, nil
		}
	}
	return "", err
}

// Get implements Registry.
func (k kept) Get(key, name string) (any, error) {
	at, err := k.find(key, name)
	if err != nil {
		return nil, err
	}
	return k[at], nil
}

// Set implements Registry.
func (k kept) Set(key, name string, n uint32) error {
	at, err := k.find(key, name)
	switch {
	case errors.Is(err, ErrNoKey):
		return err
	case err != nil:
		at = k.spelled(key) + "|" + name
	}
	k[at] = int64(n)
	return nil
}

// spelled is a key as it was first written.
func (k kept) spelled(key string) string {
	for at := range k {
		if has, _, _ := strings.Cut(at, "|"); strings.EqualFold(has, key) {
			return has
		}
	}
	return key
}

// Delete implements Registry.
func (k kept) Delete(key, name string) error {
	at, err := k.find(key, name)
	if err == nil {
		delete(k, at)
	}
	return err
}

// refusedBy is an error of the registry as a cmdlet shows it.
func refusedBy(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoKey):
		return none("Der Pfad wurde nicht gefunden")
	case errors.Is(err, ErrNoValue):
		return none("Die Eigenschaft gibt es nicht")
	}
	return denied(err.Error())
}

// provider is the key of a path at PowerShell's provider.
func provider(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, `HKLM:\`)
	if !ok {
		return "", none("Der Pfad wurde nicht gefunden")
	}
	return `HKEY_LOCAL_MACHINE\` + rest, nil
}

// getValue is Registry.GetValue: null where the key is missing, the default where the value is.
func (h *Host) getValue(args []any) (any, error) {
	if len(args) != 3 {
		return nil, errors.New("GetValue takes three")
	}
	v, err := h.registry().Get(powershell.Text(args[0]), powershell.Text(args[1]))
	switch {
	case errors.Is(err, ErrNoKey):
		return nil, nil
	case errors.Is(err, ErrNoValue):
		return args[2], nil
	case err != nil:
		return nil, refusedBy(err)
	}
	return v, nil
}

func (h *Host) setRegistry(a map[string]any) error {
	key, err := provider(powershell.Text(a["literalpath"]))
	if err != nil {
		return err
	}
	n, ok := a["value"].(int64)
	if !ok || powershell.Text(a["type"]) != "DWord" || n < 0 || n > 1<<32-1 {
		return powershell.Errorf("kein DWORD")
	}
	return refusedBy(h.registry().Set(key, powershell.Text(a["name"]), uint32(n)))
}

func (h *Host) removeRegistry(a map[string]any) error {
	key, err := provider(powershell.Text(a["literalpath"]))
	if err != nil {
		return err
	}
	return refusedBy(h.registry().Delete(key, powershell.Text(a["name"])))
}

package windows

import (
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
)

// teams is the component of a team's members, which every other adapter has switched off.
const teams = "ms_implat"

// bindings are the protocols that are switched off on each adapter, by the names of their components, which no
// language changes: "all" where none is.
func (r reading) bindings() {
	off, seen := map[string][]string{}, map[string]bool{}
	for _, one := range r.rows("bindings", "which protocols each adapter has", false) {
		name, component := one.text("Name"), one.text("ComponentID")
		on, known := one.yes("Enabled")
		if r.nic(name) < 0 || component == "" || !known {
			continue
		}
		seen[name] = true
		if !on && component != teams {
			off[name] = append(off[name], component)
		}
	}
	for name := range seen {
		value := "all"
		if len(off[name]) > 0 {
			slices.Sort(off[name])
			value = "without " + strings.Join(off[name], " ")
		}
		r.set("windows.binding.protocols", name, model.Known(value))
	}
}

// Policies are those by which Microsoft's DSM divides requests among paths.
func Policies() []string { return []string{"None", "FOO", "RR", "LQD", "LB"} }

// mpio is the policy for devices that Microsoft's DSM claims.
func (r reading) mpio() {
	const id = "windows.mpio.policy"
	switch f, asked := r.frames["mpio"]; {
	case !asked: // an older recording: it says nothing of the host
		r.f.Settings[id] = model.Unknown[string](model.Absent, "it was not asked")
		return
	case f.Code == codeMissing:
		r.f.Settings[id] = model.Unknown[string](model.Unsupported, "the host does not have the feature MPIO")
		return
	}
	for _, one := range r.rows("mpio", "how requests are divided among paths", false) {
		policy := one.text("Policy")
		if slices.Contains(Policies(), policy) {
			r.f.Settings[id] = model.Known(policy)
		} else {
			r.f.Settings[id] = model.Unknown[string](model.Unsupported, strconv.Quote(policy)+" is no policy that linerate knows")
		}
	}
}

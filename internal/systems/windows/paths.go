package windows

import (
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
)

// bindingsID is the setting of an adapter's protocols.
const bindingsID = "windows.binding.protocols"

// teams is the component of a team's members, which every other adapter has switched off.
const teams = "ms_implat"

// bindings are the protocols that are switched off on each adapter, by the names of their components, which no
// language changes: "all" where none is.
func (r reading) bindings() {
	off, whole := map[string][]string{}, map[string]bool{}
	for _, one := range r.rows("bindings", "which protocols each adapter has", false) {
		name, component := one.text("Name"), one.text("ComponentID")
		if r.nic(name) < 0 || component == teams {
			continue
		}
		if _, seen := whole[name]; !seen {
			whole[name] = true
		}
		switch on, known := one.yes("Enabled"); {
		case !known || component == "":
			whole[name] = false
		case !on:
			off[name] = append(off[name], component)
		}
	}
	for name, all := range whole {
		value := "all"
		if len(off[name]) > 0 {
			slices.Sort(off[name])
			value = "without " + strings.Join(off[name], " ")
		}
		if !all {
			r.set(bindingsID, name, model.Unknown[string](model.Absent, "of one protocol it was not given whether it is on"))
			continue
		}
		r.set(bindingsID, name, model.Known(value))
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

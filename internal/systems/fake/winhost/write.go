package winhost

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/systems/fake/powershell"
)

// effect does something that a kill may come before or after.
func (h *Host) effect(what string, do func() error) error {
	if h.Step != nil {
		if err := h.Step(what); err != nil {
			return err
		}
	}
	h.effects[what]++
	if h.told("fail", what) || h.told("failonce", what) && h.effects[what] == 1 {
		return powershell.Errorf("Das geht heute nicht: %s", what)
	}
	if !h.told("ignore", what) {
		if err := do(); err != nil {
			return err
		}
	}
	if h.Step != nil {
		return h.Step(what)
	}
	return nil
}

// writer is a cmdlet that changes what the host keeps.
func (h *Host) writer(name string, params, switches []string, do func(args map[string]any) error) powershell.Cmdlet {
	return powershell.Cmdlet{Params: params, Switches: switches, Run: func(args map[string]any) ([]any, error) {
		if slices.Contains(h.how, "noadmin") {
			return nil, denied("Zugriff verweigert")
		}
		return nil, h.effect(name, func() error {
			if err := do(args); err != nil {
				return err
			}
			return h.save()
		})
	}}
}

func (h *Host) writers() map[string]powershell.Cmdlet {
	all := map[string]powershell.Cmdlet{}
	add := func(name, params, switches string, do func(args map[string]any) error) {
		all[strings.ToLower(name)] = h.writer(strings.ToLower(name), strings.Fields(params), strings.Fields(switches), do)
	}
	add("Set-NetAdapterAdvancedProperty", "InputObject RegistryValue NoRestart", "NoRestart", h.setKeyword)
	add("Enable-NetAdapterBinding", "InputObject", "", func(a map[string]any) error { return h.bind(a, true) })
	add("Disable-NetAdapterBinding", "InputObject", "", func(a map[string]any) error { return h.bind(a, false) })
	add("Set-NetTCPSetting", "SettingName AutoTuningLevelLocal DelayedAckFrequency", "", h.setTemplate)
	add("Set-ItemProperty", "LiteralPath Name Value Type", "", h.setRegistry)
	add("Remove-ItemProperty", "LiteralPath Name", "", h.removeRegistry)
	add("Set-SmbClientConfiguration", "EnableMultiChannel EnableBandwidthThrottling Force", "Force", func(a map[string]any) error { return h.setSMB("client", a) })
	add("Set-SmbServerConfiguration", "EnableMultiChannel Smb2CreditsMax Force", "Force", func(a map[string]any) error { return h.setSMB("server", a) })
	add("Set-MSDSMGlobalDefaultLoadBalancePolicy", "Policy", "", func(a map[string]any) error {
		policy := powershell.Text(a["policy"])
		if !slices.Contains([]string{"None", "FOO", "RR", "LQD", "LB"}, policy) {
			return powershell.Errorf("Ungültiger Wert: %s", policy)
		}
		h.data.MPIO = policy
		return nil
	})
	add("Unregister-ScheduledTask", "TaskName Confirm", "", func(a map[string]any) error {
		name := powershell.Text(a["taskname"])
		if _, ok := h.data.Tasks[name]; !ok {
			return none("Die Aufgabe gibt es nicht")
		}
		if a["confirm"] != false {
			return powershell.Errorf("nobody is there to confirm")
		}
		delete(h.data.Tasks, name)
		return nil
	})
	add("Register-ScheduledTask", "TaskName Action Trigger Principal Settings Force", "Force", func(a map[string]any) error {
		for _, need := range []string{"action", "trigger", "principal", "settings"} {
			if a[need] == nil {
				return powershell.Errorf("no %s", need)
			}
		}
		h.data.Tasks[powershell.Text(a["taskname"])] = powershell.Text(a["action"])
		if strings.HasPrefix(powershell.Text(a["trigger"]), "again ") != strings.HasSuffix(powershell.Text(a["action"]), " unconfirmed") {
			return powershell.Errorf("the trigger %q is not that of the task", powershell.Text(a["trigger"]))
		}
		return nil
	})
	all["start-scheduledtask"] = powershell.Cmdlet{Params: []string{"TaskName"}, Run: h.startTask}
	for name, params := range map[string]string{
		"new-scheduledtaskaction": "Execute Argument", "new-scheduledtasktrigger": "Once At RepetitionInterval", "new-scheduledtaskprincipal": "UserId LogonType RunLevel",
		"new-scheduledtasksettingsset": "StartWhenAvailable AllowStartIfOnBatteries DontStopIfGoingOnBatteries",
	} {
		switches := []string{"Once"}
		if strings.HasSuffix(name, "set") {
			switches = strings.Fields(params)
		}
		all[name] = powershell.Cmdlet{Params: strings.Fields(params), Switches: switches, Run: func(a map[string]any) ([]any, error) {
			made := powershell.Object("CimInstance#" + name)
			made.Text = powershell.Text(a["execute"]) + " " + powershell.Text(a["argument"])
			if again, ok := a["repetitioninterval"].(*powershell.Thing); ok {
				made.Text = "again " + again.Text
			} else if a["repetitioninterval"] != nil {
				return nil, powershell.Errorf("RepetitionInterval is no TimeSpan")
			}
			return []any{made}, nil
		}}
	}
	return all
}

// Run runs a task now, as the scheduler would at its time.
func (h *Host) startTask(a map[string]any) ([]any, error) {
	task, ok := h.data.Tasks[powershell.Text(a["taskname"])]
	if !ok {
		return nil, none("Die Aufgabe gibt es nicht")
	}
	if slices.Contains(h.how, "notasks") {
		return nil, nil
	}
	_, _, err := h.RunTask(task)
	if refused := (*policyError)(nil); errors.As(err, &refused) {
		return nil, nil // the task has been started, and nobody sees how it ended
	}
	return nil, err
}

// RunTask runs the command line of a task as the system's own user, and returns its exit code and
// what it printed.
func (h *Host) RunTask(task string) (int, string, error) {
	words := strings.Fields(task)
	for i := range words {
		words[i] = strings.Trim(words[i], `"`)
	}
	if len(words) == 0 || words[0] != "powershell.exe" {
		return 0, "", fmt.Errorf("the task %q does not run PowerShell", task)
	}
	other, err := Open(h.dir, strings.Join(h.how, ","))
	if err != nil {
		return 0, "", err
	}
	var out strings.Builder
	code, err := other.PowerShell(words[1:], strings.NewReader(""), &out)
	return code, out.String(), err
}

// inputObject gives the properties of the object that a cmdlet was given.
func inputObject(a map[string]any) (func(name string) string, error) {
	of, ok := a["inputobject"].(*powershell.Thing)
	if !ok {
		return nil, powershell.Errorf("no InputObject")
	}
	raw, _ := of.Get("CimInstanceProperties")
	return func(name string) string { v, _ := raw.(*powershell.Thing).Get(name); return powershell.Text(v) }, nil
}

// bind switches one protocol of an adapter; with "also:COMPONENT" another one goes with it, with "alsoon:COMPONENT"
// when it is switched on alone, with "alsooff:COMPONENT" off.
func (h *Host) bind(a map[string]any, on bool) error {
	get, err := inputObject(a)
	if err != nil {
		return err
	}
	also := h.setting(map[bool]string{true: "alsoon", false: "alsooff"}[on], h.setting("also", get("ComponentID")))
	for _, c := range []string{get("ComponentID"), also} {
		h.data.Unbound[get("Name")+"|"+c] = !on
	}
	return nil
}

func (h *Host) setKeyword(a map[string]any) error {
	get, err := inputObject(a)
	if err != nil {
		return err
	}
	card := h.adapter(func(x adapter) bool { return x.Name == get("Name") })
	if card == nil {
		return none("kein solcher Adapter")
	}
	k, ok := card.Keywords[get("RegistryKeyword")]
	value := powershell.Text(a["registryvalue"])
	if !ok || !k.takes(value) {
		return powershell.Errorf("Ungültiger Wert: %s", value)
	}
	if h.told("round", get("RegistryKeyword")) && value != k.Default {
		value = k.Min
	}
	k.Value = value
	card.Keywords[get("RegistryKeyword")] = k
	return nil
}

func (k keyword) takes(value string) bool {
	if len(k.Valid) > 0 {
		return slices.Contains(k.Valid, value)
	}
	var n [4]int64
	for i, s := range []string{value, k.Min, k.Max, k.Step} {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return false
		}
		n[i] = v
	}
	return n[0] >= n[1] && n[0] <= n[2] && (n[0]-n[1])%n[3] == 0
}

func (h *Host) setTemplate(a map[string]any) error {
	name := powershell.Text(a["settingname"])
	if !strings.HasSuffix(name, "Custom") {
		return denied("Zugriff verweigert: nur benutzerdefinierte Vorlagen")
	}
	t, ok := h.data.Templates[name]
	if !ok {
		return none("keine solche Vorlage")
	}
	if level := powershell.Text(a["autotuninglevellocal"]); level != "" {
		n := slices.Index([]string{"disabled", "highlyrestricted", "restricted", "normal", "experimental"}, strings.ToLower(level))
		if n < 0 {
			return powershell.Errorf("Ungültiger Wert: %s", level)
		}
		t["AutoTuningLevelLocal"] = int64(n)
	}
	if n, ok := a["delayedackfrequency"].(int64); ok {
		if n < 1 || n > 255 {
			return powershell.Errorf("Ungültiger Wert: %d", n)
		}
		t["DelayedAckFrequency"] = n
	}
	return nil
}

func (h *Host) setSMB(end string, a map[string]any) error {
	if a["force"] != true {
		return powershell.Errorf("nobody is there to confirm")
	}
	for name, v := range a {
		if name == "force" {
			continue
		}
		for has, was := range h.data.SMB[end] {
			if strings.EqualFold(has, name) {
				if _, flag := was.(bool); flag != (v == true || v == false) {
					return powershell.Errorf("Ungültiger Typ")
				}
				h.data.SMB[end][has] = v
			}
		}
	}
	return nil
}

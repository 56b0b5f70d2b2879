package cli

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	appguide "linerate/internal/app/guide"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func settingCommand(env *environment) *cobra.Command {
	var rate unit.BitRate
	var rtt time.Duration
	cmd := &cobra.Command{
		Use:   "setting NAME",
		Short: "Show what a setting does, its defaults, the advice on it, and its value here",
		Long: `setting takes an id (linux.sysctl.net.ipv4.tcp_rmem), the system's own name
(net.ipv4.tcp_rmem) or a short one (tcp_rmem). Where several systems have a
name, this one's is taken and the others are listed.

Where the right value depends on the path, --rate and --rtt work it out.`,
		Example: "  linerate setting tcp_rmem\n  linerate setting tcp_rmem --rate 40Gbit --rtt 16ms\n  linerate setting windows.tcp.chimney --json",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			found := guide.Search(args[0], runtime.GOOS)
			if len(found) == 0 {
				return notKnown(args[0])
			}
			view := appguide.ReadSetting(cmd.Context(), found)
			if err := forPath(&view, rate, rtt); err != nil {
				return err
			}
			if env.json {
				return printJSON(env, view)
			}
			return printDocument(env, settingPage(view))
		},
	}
	rateFlag(cmd, &rate, "rate", "rate of the path, e.g. 40Gbit; with --rtt")
	durationVar(cmd.Flags(), &rtt, "rtt", 0, "round trip of the path, e.g. 16ms; with --rate")
	return cmd
}

// notKnown says which names are like the one that was typed.
func notKnown(name string) error {
	near := guide.Near(name, 6)
	if len(near) == 0 {
		return failure.Of(failure.Usage, "show setting %q: not known, and nothing is like it; linerate guide show GUIDE lists the settings of a guide", name)
	}
	return failure.Of(failure.Usage, "show setting %q: not known; near it are %s", name, strings.Join(near, ", "))
}

// forPath works the value out for the path of the flags, if any.
func forPath(v *appguide.Setting, rate unit.BitRate, rtt time.Duration) error {
	if rate == 0 && rtt == 0 {
		return nil
	}
	if rate == 0 || rtt <= 0 {
		return failure.Of(failure.Usage, "work out a value: want --rate and --rtt, such as --rate 40Gbit --rtt 16ms")
	}
	return v.WorkOut(rate, rtt)
}

func settingPage(v appguide.Setting) (d document.Document) {
	var fields document.Block
	field := func(name, text string) { fields.Pairs = append(fields.Pairs, document.Pair{Name: name, Value: text}) }
	field("does", v.Does)
	field("unit", v.Unit)
	for _, d := range v.Defaults {
		field("default", defaultText(v, d))
	}
	field("here", here(v))
	field("change it", v.ChangeWhen)
	field("value", v.Value)
	if p := v.ForPath; p != nil {
		text := fmt.Sprintf("%s, for one connection at %v and %v", p.Value, unit.BitRate(p.RateBPS), p.RTT)
		if p.Default {
			text += ": the default reaches that far"
		}
		field("that is", text)
	}
	field("acts on", v.ActsOn)
	field("risk", strings.TrimSuffix(v.Risk.Level+": "+v.Risk.Why, ": "))
	field("trades", v.Trades)
	field("instead", v.Instead)
	field("sources", strings.Join(v.Sources, "; "))
	if !v.Verified {
		field("not verified", "from memory or the papers alone: "+v.Unverified)
	} else {
		field("not verified", v.Unverified)
	}
	field("not read", v.NotRead)
	field("also", strings.Join(v.Also, ", "))
	d.Add(v.ID, document.Block{Text: v.Title})
	d.Add("", fields)
	for _, m := range v.Advice {
		d.Add(fmt.Sprintf("%s (%s): %s%s: %s", m.Guide, m.Date, m.Value, onKernels(m.Kernels), m.Status), document.Block{Text: m.Why})
	}
	for _, c := range v.Conflicts {
		d.Add("Sources disagree: "+c.Topic, document.Block{Text: c.One + ". " + c.Other + ". " + c.Do})
	}
	return d
}

func defaultText(v appguide.Setting, d guide.Default) string {
	text := d.Value + onKernels(d.Kernel)
	if d.Note != "" {
		text += "; " + d.Note
	}
	if v.Default != nil && *v.Default == d && len(v.Defaults) > 1 {
		text += "; this kernel's"
	}
	return text
}

// here words the current value and who set it.
func here(v appguide.Setting) string {
	var parts []string
	switch {
	case v.Current != "":
		parts = append(parts, v.Current)
	case len(v.Running) > 0:
		parts = append(parts, runningText(v.Running)...)
	default:
		parts = append(parts, notHere(v))
	}
	for _, it := range v.SetBy {
		parts = append(parts, fmt.Sprintf("%s sets it to %s: %s", it.SetBy, it.Value, it.Status))
	}
	return strings.Join(parts, "; ")
}

// runningText words the values by device, devices of the same values together.
func runningText(all []model.Running) []string {
	var devices []string
	values := map[string][]string{} // by device
	for _, r := range all {
		if values[r.Device] == nil {
			devices = append(devices, r.Device)
		}
		name := r.Name[strings.LastIndexByte(r.Name, ' ')+1:] // "ring rx": the setting's title has the ring
		values[r.Device] = append(values[r.Device], name+" "+r.Value)
	}
	var order []string
	who := map[string][]string{}
	for _, d := range devices {
		text := strings.Join(values[d], ", ")
		if who[text] == nil {
			order = append(order, text)
		}
		who[text] = append(who[text], d)
	}
	const shown = 6
	for i, text := range order {
		list := who[text]
		if more := len(list) - shown; more > 0 {
			list = append(list[:shown:shown], fmt.Sprintf("%d more", more))
		}
		if names := strings.Join(list, ", "); names != "" {
			order[i] = names + ": " + text
		}
	}
	return order
}

// notHere says why there is no value, and what would show it.
func notHere(v appguide.Setting) string {
	os, text := v.OS(), "not read here"
	goos := map[string]string{"darwin": "macos", "solaris": "illumos"}[runtime.GOOS]
	if goos == "" {
		goos = runtime.GOOS
	}
	switch {
	case os == "switch" || os == "array":
		return "a setting of the " + os + "; its own console shows it"
	case os != goos && os != "any":
		text = "a setting of " + guide.SystemName(os) + ", which this host is not"
	case strings.HasPrefix(v.ID, "linux.mount."):
		text = "no such mount here, or the mount does not say"
	case strings.HasPrefix(v.ID, "linux.zfsmodule."):
		text = "the ZFS module is not loaded here"
	case strings.HasPrefix(v.ID, "linux.ethtool."), strings.HasPrefix(v.ID, "linux.cpu."):
		text = "no device here tells it"
	}
	if v.ShownBy != "" {
		text += "; shown by: " + v.ShownBy
	}
	return text
}

package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/app/lab"
	"linerate/internal/app/profile"
	"linerate/internal/app/runs"
	"linerate/internal/app/site"
	"linerate/internal/app/study"
	"linerate/internal/guide"
)

// offers lists what an argument can be, to complete it. An error offers nothing: a shell
// that completes can be told of none.
type offers func(cmd *cobra.Command) []string

// completions are what the arguments of commands can be, each in its place; the last is
// of all that follow. What is not listed is completed as a file.
func completions(env *environment) map[string][]offers {
	hosts := func(cmd *cobra.Command) []string {
		return append(lab.Hosts(cmd.Context(), env.Env), sshHosts(env.Getenv)...)
	}
	mounts := func(*cobra.Command) []string { return explain.Mounts() }
	ran := func(*cobra.Command) []string { return runNames(env) }
	enrolled := func(cmd *cobra.Command) []string { return enrolledHosts(cmd, env) }
	studies := func(*cobra.Command) []string { return studyNames(env) }
	faults := func(*cobra.Command) []string {
		var out []string
		for _, f := range lab.Catalogue() {
			out = append(out, f.ID+"\t"+f.Doc)
		}
		return out
	}
	profiles := func(*cobra.Command) []string {
		var out []string
		all, _ := profile.List(env.Env)
		for _, p := range all {
			out = append(out, p.Name+"\t"+p.Title)
		}
		return out
	}
	either := func(a, b offers) offers {
		return func(cmd *cobra.Command) []string { return append(a(cmd), b(cmd)...) }
	}
	name := func(*cobra.Command) []string { return nil }
	ends := []offers{either(mounts, hosts), hosts}
	return map[string][]offers{
		"check": {hosts}, "fix": {hosts, hosts}, "explain": ends, "watch": ends, "serve": ends, "leave": {hosts},
		"tune": {hosts}, "tune plan": {hosts}, "tune apply": {hosts}, "tune confirm": {hosts}, "tune undo": {hosts}, "tune history": {hosts},
		"tune script": {hosts}, "agent revoke": {enrolled},
		"guide audit": {hosts}, "guide show": {guideNames}, "setting": {settingNames},
		"report": {ran}, "compare": {ran, ran}, "study show": {studies}, "study resume": {studies}, "study new": {templateNames},
		"profile show": {profiles}, "profile diff": {profiles, profiles}, "profile export": {profiles}, "profile save": {name, hosts},
		"lab fault add": {faults, severities}, "lab exec": {labHosts(env)}, "lab reboot": {labHosts(env)}, "load tcp": {hosts, hosts},
	}
}

// complete gives the commands below root their completions, and flags that name the same
// things theirs.
func complete(env *environment, root *cobra.Command) {
	all := completions(env)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if places, ok := all[path]; ok {
			c.ValidArgsFunction = offering(places)
		}
		for flag, what := range map[string]offers{"profile": all["profile show"][0], "mine": all["profile show"][0], "to": all["check"][0], "replay": all["report"][0]} {
			f := c.Flags().Lookup(flag)
			if _, there := c.GetFlagCompletionFunc(flag); f != nil && f.Value.Type() == "string" && !there {
				_ = c.RegisterFlagCompletionFunc(flag, offering([]offers{what}))
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(root)
}

func offering(places []offers) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		list := places[min(len(args), len(places)-1)](cmd)
		list = slices.DeleteFunc(list, func(s string) bool {
			name, _, _ := strings.Cut(s, "\t")
			return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
		})
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func runNames(env *environment) []string {
	out := []string{"last"}
	_, all, _ := runs.List(env.Env)
	for _, r := range all {
		out = append(out, r.ID+"\t"+r.Command)
	}
	return out
}

// completionWaits is how long somebody who pressed a key waits for another process to answer.
const completionWaits = time.Second

// enrolledHosts are those of the sites that this machine keeps.
func enrolledHosts(cmd *cobra.Command, env *environment) (out []string) {
	ctx, stop := context.WithTimeout(cmd.Context(), completionWaits)
	defer stop()
	all, _ := site.Hosts(ctx, env.Env, "")
	for _, h := range all.Hosts {
		out = append(out, h.Name)
	}
	return out
}

func studyNames(env *environment) []string {
	out := []string{"last"}
	all, _ := study.List(env.Env)
	for _, s := range all {
		out = append(out, s.ID+"\t"+s.Name+", "+s.State)
	}
	return out
}

func templateNames(*cobra.Command) (out []string) {
	for _, t := range study.Templates() {
		out = append(out, t.Name+"\t"+t.Question)
	}
	return out
}

func guideNames(*cobra.Command) (out []string) {
	for _, g := range guide.Guides() {
		out = append(out, g.Key+"\t"+g.Title)
	}
	return out
}

// settingNames are ids and the systems' own names.
func settingNames(*cobra.Command) (out []string) {
	for _, s := range guide.All() {
		out = append(out, s.ID)
		if n := s.Native(); n != s.ID {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func severities(*cobra.Command) []string { return []string{"mild", "medium", "severe"} }

// labHosts are the hosts of labs as lab commands take them.
func labHosts(env *environment) offers {
	return func(cmd *cobra.Command) (out []string) {
		for _, h := range lab.Hosts(cmd.Context(), env.Env) {
			out = append(out, h[strings.LastIndexAny(h, ":/")+1:])
		}
		return out
	}
}

// sshHosts are the names in the user's ssh configuration, patterns left out.
func sshHosts(getenv func(string) string) (out []string) {
	home := getenv("HOME")
	if home == "" {
		return nil
	}
	b, err := app.ReadFile(filepath.Join(home, ".ssh", "config"), 1<<20)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || !strings.EqualFold(f[0], "host") {
			continue
		}
		for _, h := range f[1:] {
			if !strings.ContainsAny(h, "*?!") {
				out = append(out, h)
			}
		}
	}
	return out
}

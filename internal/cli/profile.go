package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/profile"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

func profileCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show, save and share the settings for a kind of work",
		Long: `A profile says for a kind of work which settings matter, with a rule for each
value (not a constant), its source, its risk, and the lines of papers that are
not taken, with the reason. Eight are built in; your own are YAML files of the
same form, which you can share. docs/profiles.md explains the form.`,
		Example: `  linerate profile list
  linerate profile show nfs-server
  linerate profile save mine nas1            what nas1 has now, as "my tuning"
  linerate profile diff nfs-server mine
  linerate profile export nfs-server > my.yaml ; linerate profile import my.yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(profileListCommand(env), profileShowCommand(env), profileSaveCommand(env),
		profileDiffCommand(env), profileImportCommand(env), profileExportCommand(env))
	return cmd
}

func profileListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the profiles", Args: usage(cobra.NoArgs),
		Example: "  linerate profile list\n  linerate profile list --json",
		RunE: func(*cobra.Command, []string) error {
			all, err := profile.List(env.Env)
			return printed(env, list("profiles", all), err, func() error { return printDocument(env, profilesPage(all)) })
		},
	}
}

func profilesPage(list []profile.Summary) document.Document {
	t := document.Table{Head: document.Columns("Profile", "#Lines", "Whose", "For")}
	for _, s := range list {
		whose, what := "yours", s.For
		if s.Builtin {
			whose = "built in"
		}
		if s.Error != "" {
			what = "cannot be read: " + s.Error
		}
		t.Row(s.Name, strconv.Itoa(s.Lines), whose, what)
	}
	return document.Document{Lead: []document.Block{t.Block()}}
}

func profileShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "show PROFILE", Short: "Show a profile: each rule with its reason and source, and what is not taken",
		Args:    usage(cobra.ExactArgs(1)),
		Example: "  linerate profile show nfs-server\n  linerate profile show ./theirs.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := profile.Find(env.Env, args[0])
			return printed(env, p, err, func() error { return printDocument(env, profilePage(p)) })
		},
	}
}

func profilePage(p profile.Profile) (d document.Document) {
	d.Add(p.Name+": "+p.Title, document.Block{Text: "For " + p.For + "."})
	for _, l := range p.Lines {
		d.Add("", document.Block{Card: &document.Card{Title: l.Setting, Text: l.Rule(),
			Pairs: []document.Pair{{Name: "why", Value: l.Reason}, {Name: "from", Value: l.Source}, {Name: "risk", Value: l.Risk}, {Name: "needs", Value: l.Needs}}}})
	}
	var rejected []document.Block
	for _, r := range p.Rejected {
		rejected = append(rejected, document.Block{Card: &document.Card{Title: r.Setting + " = " + r.Value, Text: r.Why,
			Pairs: []document.Pair{{Name: "from", Value: r.Source}}}})
	}
	d.Add("Not taken", rejected...)
	return d
}

func profileDiffCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "diff ONE OTHER", Short: "Show the settings on which two profiles disagree",
		Args:    usage(cobra.ExactArgs(2)),
		Example: "  linerate profile diff nfs-server mine\n  linerate profile diff mine ./theirs.yaml --json",
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := profile.Diff(env.Env, args[0], args[1])
			return printed(env, list("differences", all), err, func() error {
				d := saying("No difference.")
				if len(all) > 0 {
					d = document.Document{}
				}
				for _, x := range all {
					d.Add("", document.Block{Card: &document.Card{Title: x.Setting,
						Pairs: []document.Pair{{Name: "-", Value: cmp.Or(x.One, "(no line)")}, {Name: "+", Value: cmp.Or(x.Other, "(no line)")}}}})
				}
				return printDocument(env, d)
			})
		},
	}
}

func profileImportCommand(env *environment) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Keep a profile from a file, - for the standard input, under its own name",
		Long: `import checks a profile and keeps it with yours. It changes no host: lines that
trade data safety or security are never applied from a profile, whoever wrote it.`,
		Args:    usage(cobra.ExactArgs(1)),
		Example: "  linerate profile import theirs.yaml\n  curl -s https://example.org/p.yaml | linerate profile import -",
		RunE: func(_ *cobra.Command, args []string) error {
			in, name := env.in, "standard input"
			if args[0] != "-" {
				text, err := app.ReadFile(args[0], profile.MaxFile)
				if err != nil {
					return failure.Of(failure.Usage, "import a profile: %v", err)
				}
				in, name = bytes.NewReader(text), filepath.Base(args[0])
			}
			kept, err := profile.Import(env.Env, in, name, replace)
			return printKept(env, kept, err)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "write over a profile of that name")
	return cmd
}

// printKept says where a profile is kept, or why it is not.
func printKept(env *environment, k profile.Kept, err error) error {
	return printed(env, k, err, func() error {
		return printDocument(env, saying(fmt.Sprintf("kept as %s, in %s", k.Name, k.File)))
	})
}

func profileSaveCommand(env *environment) *cobra.Command {
	var o tuneOptions
	var replace bool
	cmd := &cobra.Command{
		Use:   "save NAME [HOST]",
		Short: "Keep what a host has now as a profile of yours, for the settings of another profile and those of --set",
		Long: `save reads the settings of a profile on a host (this machine without HOST) and
keeps the values that run there as a profile of yours. Called "mine", it is the
column of that name of linerate tune. Edit the file to turn values into rules.
It changes nothing on the host.`,
		Example: `  linerate profile save mine nas1
  linerate profile save mine nas1 --profile nfs-server
  linerate profile save mine nas1 --to client1      the settings of that path's device
  linerate profile save fast nas1 --set tcp_rmem='keep keep {2 * bdp}'`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := profile.CheckName(args[0]); err != nil {
				return err
			}
			if err := o.check(env, args[1:]); err != nil {
				return err
			}
			p := newProgress(env)
			defer p.End()
			kept, left, err := profile.Save(cmd.Context(), env.Env, o.Request, args[0], replace, p)
			for _, l := range left {
				fmt.Fprintf(env.err, "left out %s\n", l)
			}
			return printKept(env, kept, err)
		},
	}
	f := cmd.Flags()
	o.subjectFlags(f)
	f.Lookup("profile").Usage = "the profile whose settings are kept; else the one that fits the host"
	f.StringArrayVar(&o.set, "set", nil, "a value or rule to keep instead of what runs, `SETTING=VALUE`; may be repeated")
	f.BoolVar(&replace, "replace", false, "write over a profile of that name")
	return cmd
}

func profileExportCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "export PROFILE [FILE]", Short: "Write a profile as one file that needs no other, to the standard output without FILE",
		Args:    usage(cobra.RangeArgs(1, 2)),
		Example: "  linerate profile export mine mine.yaml\n  linerate profile export nfs-server | less",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := profile.Find(env.Env, args[0])
			return printed(env, p, err, func() error { return export(env, profile.Format(p), args[1:]) })
		},
	}
}

// export writes a profile to a new file, or to the standard output.
func export(env *environment, text []byte, file []string) error {
	if len(file) == 0 {
		_, err := env.out.Write(text)
		return err
	}
	f, err := os.OpenFile(file[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return failure.Of(failure.Usage, "export a profile: %s is there already; name a new file", file[0])
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("export a profile: %w", err)
	}
	return nil
}

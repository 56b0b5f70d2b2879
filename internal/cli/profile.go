package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/report"
	"linerate/internal/tune/profile"
)

func profileCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show, save and share what a kind of work wants of a host's settings",
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

// profileSummary is a line of the list.
type profileSummary struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	For     string `json:"for"`
	Builtin bool   `json:"builtin"`
	Lines   int    `json:"lines"`
	// Error says why a file of the user's cannot be read.
	Error string `json:"error,omitempty"`
}

func profileListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the profiles", Args: usage(cobra.NoArgs),
		Example: "  linerate profile list\n  linerate profile list --json",
		RunE: func(*cobra.Command, []string) error {
			own, err := userProfiles(env)
			if err != nil {
				return err
			}
			list := []profileSummary{}
			for _, name := range append(profile.Names(), own...) {
				p, err := findProfile(env, name)
				s := profileSummary{Name: name, Title: p.Title, For: p.For, Builtin: p.Builtin, Lines: len(p.Lines)}
				if err != nil {
					s.Error = firstLine(err)
				}
				list = append(list, s)
			}
			if env.json {
				return printJSON(env, list)
			}
			return printProfiles(env.out, list)
		},
	}
}

func printProfiles(out io.Writer, list []profileSummary) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PROFILE\tLINES\tWHOSE\tFOR")
	for _, s := range list {
		whose, what := "yours", report.Printable(s.For)
		if s.Builtin {
			whose = "built in"
		}
		if s.Error != "" {
			what = "cannot be read: " + report.Printable(s.Error)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", s.Name, s.Lines, whose, what)
	}
	return w.Flush()
}

func profileShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "show PROFILE", Short: "Show a profile: each rule with its reason and source, and what is not taken",
		Args:    usage(cobra.ExactArgs(1)),
		Example: "  linerate profile show nfs-server\n  linerate profile show ./theirs.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := findProfile(env, args[0])
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, p)
			}
			showProfile(env.out, p, env.width)
			return nil
		},
	}
}

func showProfile(out io.Writer, p profile.Profile, width int) {
	fmt.Fprintf(out, "%s: %s\n", p.Name, report.Printable(p.Title))
	paragraph(out, "", "For "+report.Printable(p.For)+".", width)
	for _, l := range p.Lines {
		fmt.Fprintf(out, "\n%s\n", l.Setting)
		paragraph(out, "    ", report.Printable(l.Rule()), width)
		for _, text := range []string{l.Reason, "from: " + l.Source, labelled("risk: ", l.Risk), labelled("needs: ", l.Needs)} {
			paragraph(out, "    ", report.Printable(text), width)
		}
	}
	if len(p.Rejected) > 0 {
		fmt.Fprint(out, "\nNot taken\n")
	}
	for _, r := range p.Rejected {
		paragraph(out, "  ", report.Printable(r.Setting+" = "+r.Value), width)
		paragraph(out, "      ", report.Printable(r.Why), width)
		paragraph(out, "      ", report.Printable("from: "+r.Source), width)
	}
}

// labelled is a text with its label, or nothing.
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func profileDiffCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "diff ONE OTHER", Short: "Show the settings on which two profiles disagree",
		Args:    usage(cobra.ExactArgs(2)),
		Example: "  linerate profile diff nfs-server mine\n  linerate profile diff mine ./theirs.yaml --json",
		RunE: func(_ *cobra.Command, args []string) error {
			one, err := findProfile(env, args[0])
			if err != nil {
				return err
			}
			other, err := findProfile(env, args[1])
			if err != nil {
				return err
			}
			list := profile.Diff(one, other)
			if env.json {
				return printJSON(env, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(env.out, "No difference.")
			}
			for _, d := range list {
				fmt.Fprintln(env.out, d.Setting)
				paragraph(env.out, "  - ", report.Printable(orNone(d.One)), env.width)
				paragraph(env.out, "  + ", report.Printable(orNone(d.Other)), env.width)
			}
			return nil
		},
	}
}

func orNone(text string) string {
	if text == "" {
		return "(no line)"
	}
	return text
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
				f, err := os.Open(args[0])
				if err != nil {
					return failure.Of(failure.Usage, "import a profile: %v", err)
				}
				defer f.Close() // only read
				in, name = f, filepath.Base(args[0])
			}
			text, p, err := parseProfile(in, name)
			if err != nil {
				return err
			}
			return kept(env, p.Name, text, replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "write over a profile of that name")
	return cmd
}

// kept keeps a profile and says where.
func kept(env *environment, name string, text []byte, replace bool) error {
	file, err := keepProfile(env, name, text, replace)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, map[string]string{"name": name, "file": file})
	}
	fmt.Fprintf(env.out, "kept as %s, in %s\n", name, file)
	return nil
}

func profileExportCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "export PROFILE [FILE]", Short: "Write a profile as one file that needs no other, to the standard output without FILE",
		Args:    usage(cobra.RangeArgs(1, 2)),
		Example: "  linerate profile export mine mine.yaml\n  linerate profile export nfs-server | less",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := findProfile(env, args[0])
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, p)
			}
			if len(args) == 1 {
				_, err := env.out.Write(profile.Format(p))
				return err
			}
			f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, os.ErrExist) {
				return failure.Of(failure.Usage, "export a profile: %s is there already; name a new file", args[1])
			}
			if err != nil {
				return fmt.Errorf("export a profile: %w", err)
			}
			_, err = f.Write(profile.Format(p))
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("export a profile: %w", err)
			}
			return nil
		},
	}
}

// names is a list for people: "a, b and c".
func names(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

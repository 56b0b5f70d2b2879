package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"linerate/internal/report"
	"linerate/internal/store"
)

type reportOptions struct {
	output string
	format string
}

func reportCommand(env *environment) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Render the report of a recorded run again",
		Long: `report reads a bundle, checks its hashes and renders its report again, with this
build's renderer. RUN is an id of linerate runs, the beginning of one, "last",
or the path of a bundle.`,
		Example: `  linerate report last                      the conclusions, on the terminal
  linerate report last -o report.html       one self-contained page
  linerate report 20261120-2345 --format markdown`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return runReport(env, args[0], o) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to this file instead of stdout")
	cmd.Flags().StringVar(&o.format, "format", "", "text, html or markdown; by default text, or what the ending of --output says")
	return cmd
}

func runReport(env *environment, ref string, o reportOptions) error {
	root, err := store.DataDir(env.getenv)
	if err != nil {
		return err
	}
	dir, err := store.Resolve(root, ref)
	if err != nil {
		return err
	}
	b, err := store.Open(dir)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, b.Results)
	}
	var buf bytes.Buffer
	if err := render(env, &buf, b, format(o)); err != nil {
		return err
	}
	if o.output == "" {
		_, err := env.out.Write(buf.Bytes())
		return err
	}
	if err := os.WriteFile(o.output, buf.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	fmt.Fprintf(env.err, "wrote %s\n", o.output)
	return nil
}

// format is what was asked for, else what the file's ending says, else text.
func format(o reportOptions) string {
	if o.format != "" {
		return o.format
	}
	switch filepath.Ext(o.output) {
	case ".html", ".htm":
		return "html"
	case ".md":
		return "markdown"
	}
	return "text"
}

func render(env *environment, buf *bytes.Buffer, b *store.Bundle, format string) error {
	switch format {
	case "text":
		return report.Text(buf, b.Results, env.color, env.width)
	case "markdown":
		samples, err := b.Samples()
		if err != nil {
			return err
		}
		return report.Markdown(buf, b.Results, samples, b.Facts)
	case "html":
		samples, err := b.Samples()
		if err != nil {
			return err
		}
		return report.HTML(buf, b.Results, samples, b.Facts)
	}
	return exit(ExitUsage, "unknown format %q; choose text, html or markdown", format)
}

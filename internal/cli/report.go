package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/report"
	"linerate/internal/report/data"
	"linerate/internal/report/document"
)

type reportOptions struct {
	output string
	format string
	table  string
}

func reportCommand(env *environment) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Render the report of a recorded run again, or write its data",
		Long: `report reads a bundle, checks its hashes and renders its report again, with this
build's renderer. RUN is an id of linerate runs, the beginning of one, "last",
or the path of a bundle. What linerate serve kept is history:PATH@TIME/LONG
(docs/watch.md).

The report of a study is a white paper: question and answer first, then the
set-up, the method, every figure with the table behind it, what did nothing,
and every run (docs/report.md). --format csv and parquet write one table of the
data, "runs" (of a load "series") unless --table names another; an unknown name
lists those there are.`,
		Example: `  linerate report last                             the conclusions, on the terminal
  linerate report last -o report.html              one self-contained page
  linerate report 20261120-2345 --format md
  linerate report history:nas1@yesterday           what serve saw of a path
  linerate report last --format csv --table comparisons -o comparisons.csv
  linerate report last --table connections -o connections.parquet`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return runReport(env, args[0], o) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to this file instead of stdout")
	cmd.Flags().StringVar(&o.format, "format", "", "text, html, md, json, csv or parquet; by default text, or what the ending of --output says")
	cmd.Flags().StringVar(&o.table, "table", "", "of csv and parquet: which table (an unknown name lists them)")
	return cmd
}

func runReport(env *environment, ref string, o reportOptions) error {
	f, err := format(o)
	if err != nil {
		return err
	}
	if o.table != "" && f != "csv" && f != "parquet" {
		return failure.Of(failure.Usage, "--table %s: only csv and parquet have tables, not %s; add --format csv", o.table, f)
	}
	if isHistory(ref) {
		return reportHistory(env, ref, f, o)
	}
	b, err := runs.Open(env.Env, ref)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, b.Results)
	}
	if f == "text" && o.output == "" {
		return report.Text(env.out, b.Results, env.color, env.width)
	}
	var buf bytes.Buffer
	if err := render(env, &buf, b, f, o.table); err != nil {
		return err
	}
	return writeReport(env, &buf, f, o.output)
}

// writeReport writes what was rendered to a file, or to stdout where none is named.
func writeReport(env *environment, buf *bytes.Buffer, f, output string) error {
	if output == "" {
		write := func(b []byte) error { _, err := env.out.Write(b); return err }
		if f == "parquet" {
			write = env.out.Bytes
		}
		if err := write(buf.Bytes()); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(output, buf.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	env.err.Printf("wrote %s\n", output)
	return nil
}

// format is what was asked for, else what the file's ending says, else text. An ending
// that promises something else is refused.
func format(o reportOptions) (string, error) {
	switch {
	case o.format == "markdown":
		return "md", nil
	case o.format != "":
		return o.format, nil
	}
	switch end := filepath.Ext(o.output); end {
	case ".html", ".htm":
		return "html", nil
	case ".md", ".json", ".csv", ".parquet":
		return end[1:], nil
	case "", ".txt", ".text":
		return "text", nil
	default:
		hint := "name the file .html, .md, .txt, .json, .csv or .parquet, or say --format"
		if end == ".pdf" {
			hint = "write .html, and let a browser print it as PDF"
		}
		return "", failure.Of(failure.Usage, "--output %s: a report cannot be written as %s; %s", o.output, end, hint)
	}
}

func render(env *environment, buf *bytes.Buffer, b *runs.Bundle, format, table string) error {
	switch format {
	case "text":
		return report.Text(buf, b.Results, false, env.width)
	case "json":
		return document.JSON(buf, b.Results)
	case "csv", "parquet":
		return renderTable(buf, b, format, table)
	case "md", "html":
	default:
		return failure.Of(failure.Usage, "unknown format %q; choose text, html, md, json, csv or parquet", format)
	}
	samples, err := b.Samples()
	if err != nil {
		return err
	}
	if format == "md" {
		return report.Markdown(buf, b.Results, samples, b.Facts)
	}
	return report.HTML(buf, b.Results, samples, b.Facts)
}

// renderTable writes one table. The samples are read only where it is made of
// them.
func renderTable(buf *bytes.Buffer, b *runs.Bundle, format, table string) error {
	t, err := data.Find(b.Results, table)
	if err != nil {
		return failure.As(failure.Usage, fmt.Errorf("%w; choose one with --table", err))
	}
	var samples data.Samples
	if t.Counters {
		kept, err := b.Samples()
		if err != nil {
			return err
		}
		samples = data.Samples(kept)
	}
	if format == "parquet" {
		return t.Parquet(buf, b.Results, samples)
	}
	return t.CSV(buf, b.Results, samples)
}

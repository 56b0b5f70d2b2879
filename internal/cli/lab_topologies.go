package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
	"linerate/internal/report/document"
)

func labTopologiesCommand(env *environment) *cobra.Command {
	var svg, yaml string
	cmd := &cobra.Command{
		Use:   "topologies",
		Short: "List the papers' networks, each with a drawing",
		Example: `  linerate lab topologies
  linerate lab topologies --svg dual-homed > dual-homed.svg
  linerate lab topologies --yaml cluster > mine.yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runTopologies(env, svg, yaml) },
	}
	cmd.Flags().StringVar(&svg, "svg", "", "print the drawing of this topology as SVG")
	cmd.Flags().StringVar(&yaml, "yaml", "", "print the file of this topology, to copy and edit")
	return cmd
}

func runTopologies(env *environment, svg, yaml string) error {
	switch {
	case yaml != "":
		return writeTopology(env, lab.Source, yaml)
	case svg != "":
		return writeTopology(env, lab.SVG, svg)
	}
	all, err := lab.Topologies()
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, list("topologies", all))
	}
	var d document.Document
	for _, t := range all {
		d.Add(fmt.Sprintf("%s (%s): %s", t.Name, t.Paper, t.Title), document.Block{Pre: t.Text})
	}
	d.Add("", document.Block{Text: "Rates are the papers'; a lab has a tenth of them unless --full-rate is given."})
	return printDocument(env, d)
}

func writeTopology(env *environment, form func(name string) ([]byte, error), name string) error {
	b, err := form(name)
	if err != nil {
		return err
	}
	_, err = env.out.Write(b)
	return err
}

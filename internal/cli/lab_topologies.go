package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/lab/topology"
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
		src, err := topology.Source(yaml)
		if err != nil {
			return failure.As(failure.Usage, err)
		}
		_, err = env.out.Write(src)
		return err
	case svg != "":
		t, err := topology.Find(svg)
		if err != nil {
			return failure.As(failure.Usage, err)
		}
		_, err = env.out.Write(topology.SVG(t))
		return err
	}
	all, err := topology.Builtin()
	if err != nil {
		return err
	}
	if env.json {
		out := []topology.Entry{}
		for _, t := range all {
			out = append(out, topology.JSON(t))
		}
		return printJSON(env, out)
	}
	for _, t := range all {
		fmt.Fprintf(env.out, "%s (%s): %s\n\n%s\n", t.Name, t.Paper, t.Title, topology.Text(t))
	}
	fmt.Fprintf(env.out, "Rates are the papers'; a lab has a tenth of them unless --full-rate is given.\n")
	return nil
}

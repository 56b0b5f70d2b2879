package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/study"
	"linerate/internal/failure"
)

func studyPlanCommand(env *environment) *cobra.Command {
	var o study.PlanOptions
	var noise string
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what a study would run and change, how long it takes, and the smallest effect it could show",
		Long: `plan reads a study file and those of its hosts that it can reach. It says which
cases would be run in which order, what would be changed where, how long that takes,
and the smallest effect that each planned look could show. It changes nothing and
puts no load on anything. Exit code 2 means that run would refuse the study; the
message says why.`,
		Args: usage(cobra.ExactArgs(1)),
		Example: `  linerate study plan x520.yaml
  linerate study plan x520.yaml --offline --noise 5%     without looking at the hosts; for a noisier path
  linerate study plan x520.yaml --budget 30m --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := studySource(args[0])
			if err != nil {
				return err
			}
			if o.Noise, o.NoiseFrom, err = parseNoise(noise); err != nil {
				return err
			}
			p, err := study.MakePlan(cmd.Context(), env.Env, newProgress(env), source, o)
			if err != nil {
				return err
			}
			if env.json {
				err = printJSON(env, p.StudyPlan)
			} else {
				err = printStudyPlan(env, p)
			}
			if err != nil {
				return err
			}
			return refusedPlan(p)
		},
	}
	cmd.Flags().BoolVar(&o.Offline, "offline", false, "look at no host: judge the file alone")
	cmd.Flags().StringVar(&noise, "noise", "", "what single runs vary by (relative standard deviation), e.g. 2%; an A/A study measures it (default 2%)")
	durationVar(cmd.Flags(), &o.Budget, "budget", 0, "time for all runs, instead of the file's")
	return cmd
}

// refusedPlan is the error of a plan that study run would not begin.
func refusedPlan(p study.Plan) error {
	n := p.Fatal()
	if n == 0 {
		return nil
	}
	return failure.Of(failure.Usage, "study %s would be refused for %d of its problems; they stand at the end of the plan", p.Name, n)
}

// parseNoise reads --noise, and says where the figure is from; 0 where none is
// given.
func parseNoise(text string) (noise float64, from string, err error) {
	if text == "" {
		return 0, "assumed; --noise, or an A/A study (linerate study new is-it-noise)", nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if strings.HasSuffix(text, "%") {
		x /= 100
	}
	if err != nil || !(x > 0 && x < 1) {
		return 0, "", failure.Of(failure.Usage, "--noise %q: want a share of the rate, such as 2%% or 0.02", text)
	}
	return x, "--noise", nil
}

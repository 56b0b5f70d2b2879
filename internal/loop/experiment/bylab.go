package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/file"
)

// byLab reports whether the lab makes a layer, and not the operator.
func (x *Experiment) byLab(l layer) bool { return x.Lab != nil && file.ByLab(x.File, l.level) }

// labName is the name under which the lab keeps a layer. It begins with the study's
// id, as the ids of plans do.
func (x *Experiment) labName(l layer) string { return x.ID + "-" + l.key }

// makeByLab has the lab make a layer, and verifies it by the fact that the file
// names, if it names one. If the lab cannot make it, or the fact does not change, the
// treatment cannot be applied.
func (x *Experiment) makeByLab(ctx context.Context, l layer) error {
	name := l.name()
	if err := x.Record.Put(store.StudyEntry{Kind: store.StudyAsked, At: x.Now(), Factor: l.factor, Level: l.level.Name, Why: "of the lab: " + strings.Join(l.level.Lab, " ")}); err != nil {
		return &recordError{err}
	}
	defer x.forget()
	err := x.Lab.Make(ctx, x.labName(l), l.level.Lab)
	if err != nil && ctx.Err() == nil {
		err = &notInForceError{why: fmt.Sprintf("%s: the lab does not make it: %v", name, err)}
	}
	if err == nil {
		err = x.seenOfLab(ctx, name, l.level.Verify)
	}
	if err == nil {
		return nil
	}
	if terr := x.takeBackByLab(context.WithoutCancel(ctx), l); terr != nil {
		return fmt.Errorf("%w; and %w", err, terr)
	}
	return err
}

// seenOfLab verifies by a fact what the lab has changed; without a fact it trusts the lab.
func (x *Experiment) seenOfLab(ctx context.Context, name string, v *model.StudyVerify) error {
	if v == nil {
		return nil
	}
	is, now, err := x.verified(ctx, *v)
	if err == nil && !is {
		err = &notInForceError{why: fmt.Sprintf("%s: the lab made it, and %s of %s reads %q and not %q", name, v.Fact, v.Host, now, v.Is)}
	}
	return err
}

func (x *Experiment) takeBackByLab(ctx context.Context, l layer) error {
	defer x.forget()
	if err := x.Lab.TakeBack(ctx, x.labName(l)); err != nil {
		return fmt.Errorf("take back %s: %w", l.name(), err)
	}
	return nil
}

// clearLab lets the lab undo everything that this study has changed in it, including in
// earlier sessions.
func (x *Experiment) clearLab(ctx context.Context) error {
	if x.Lab == nil {
		return nil
	}
	made, err := x.Lab.Made(ctx)
	if err != nil {
		return fmt.Errorf("see what this study has made in the lab: %w", err)
	}
	for _, name := range made {
		if !strings.HasPrefix(name, x.ID+"-") {
			continue
		}
		if err := x.Lab.TakeBack(ctx, name); err != nil {
			return fmt.Errorf("take back what this study has made in the lab: %w", err)
		}
	}
	return nil
}

// anewBase reads the hosts after the operator, or the lab, has changed them: later
// runs are compared with these ports and boots.
func (x *Experiment) anewBase(ctx context.Context) error {
	for _, h := range x.Hosts {
		f, err := h.agent.Facts(ctx)
		if err != nil {
			return fmt.Errorf("look at %s: %w", h.Name, err)
		}
		h.base, h.last = f, f
	}
	return nil
}

// TakesLab reports whether the lab makes any change of a study.
func TakesLab(f model.StudyFile) bool {
	byLab := func(l model.StudyLevel) bool { return file.ByLab(f, l) }
	return slices.ContainsFunc(f.Baseline, byLab) ||
		slices.ContainsFunc(f.Factors, func(x model.StudyFactor) bool { return slices.ContainsFunc(x.Levels, byLab) })
}

package facts

import (
	"context"
	"errors"
	"io/fs"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readFirewall lists the packet filter's chains. A filter that is not loaded is an answer, too.
func readFirewall(ctx context.Context, src kernel.Source, f *model.Facts) error {
	chains, err := src.Firewall(ctx)
	if err != nil {
		f.Firewall = lost[[]model.FirewallChain](err)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	f.Firewall = model.Known(chains)
	return nil
}

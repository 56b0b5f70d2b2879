package facts

import (
	"context"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readRoutes reads the main routing table.
func readRoutes(ctx context.Context, src kernel.Source, f *model.Facts) (err error) {
	f.Routes, err = src.Routes(ctx)
	return err
}

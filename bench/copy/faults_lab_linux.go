package main

import "context"

// labFaults are those that take a lab.
func (b *bench) labFaults(context.Context) ([]fault, []tally, error) { return nil, nil, nil }

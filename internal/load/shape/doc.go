// Package shape says which block a workload touches next, whether it reads or
// writes it, how large the request is, and when it is due. It is pure: a Walk
// is a function of its Shape and seed, so a run can be repeated request for
// request.
//
// It refuses shapes that cannot be had (a request larger than the area, shares
// that do not add up) before anything is touched, and knows nothing of files,
// clocks or data.
package shape

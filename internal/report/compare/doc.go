// Package compare sets two recorded runs side by side: what each measured, what
// limited it, what a study found of each change, and what was different between
// them in hosts, settings and kernels. It is pure: what it says depends on the
// two bundles alone.
//
// It refuses to: call a difference of two single runs significant (there is no
// spread to judge it by), compare what was not the same workload or the same
// change, or name the cause of a difference: what else changed is listed, and a
// study would have to tell.
package compare

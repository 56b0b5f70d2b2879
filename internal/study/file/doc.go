// Package file reads study files: YAML in, a model.StudyFile with its defaults
// filled in out, or a list of problems, each with its line and what to do. It
// also holds the templates that `linerate study new` prints, the JSON Schema for
// editors, the facts by which an operator's change is verified, and what has to
// be checked of a file before anything runs.
//
// It is pure. It refuses everything that would fail later: unknown keys, hosts that are not
// declared, settings that linerate cannot set, two factors that set the same thing, levels
// that change nothing. It does not resolve which interface or mount a setting without a device
// is for: that needs the facts of the host.
package file

// Package store keeps what a run left behind as a bundle: one folder
//
//	<data>/runs/<id>/
//	    manifest.json            format version, build, and the hash and size of every other file
//	    facts/<host>.json        what was read of each host
//	    samples/<host>.jsonl.zst the counters, one {"run","sample"} per line
//	    results.json             the conclusions (model.Results)
//	    report.html              the report, as rendered by the run itself
//
// A bundle is written into a hidden folder, synced, and renamed into place: a visible bundle is
// complete. Open reads any version that this build or an older one wrote, checks every hash, and
// treats the folder as hostile: sizes, names, links and decompressed lengths are bounded.
//
// A study under way keeps its state in <data>/studies/<id>/ (see StudyState), so that it can be
// resumed after its process died.
//
// It refuses to overwrite, repair or delete a bundle (it only sweeps the hidden folder of a run
// whose process is gone), to draw conclusions, and to vouch for the writer: hashes find damage,
// not forgery. It has no clock: the time is a parameter. time is a parameter.
package store

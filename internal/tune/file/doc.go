// Package file treats a whole file of the host's configuration as a setting: it
// is read, replaced in one step and put back byte for byte with mode, owner and
// extended attributes, by the same journal as any other setting. What files
// held is kept beside the journal, by hash.
//
// It refuses every file outside the directories of Allowed, so that no plan and
// no journal can reach another; symbolic links and files with several names,
// which replacing would break; and files that are larger than kernel.MaxFile.
package file

// Package file treats a whole configuration file of the host as a setting: it is read, replaced
// in one step and restored byte for byte with mode, owner and extended attributes, by the same
// journal as any other setting. Former texts are kept beside the journal, by hash.
//
// It refuses every file outside the directories of Allowed, so that no plan and no journal can
// reach another; symbolic links and files with several hard links, which a replacement would
// break; and files larger than kernel.MaxFile.
package file

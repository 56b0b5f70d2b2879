// Package conf reads the YAML files that people write: topologies, studies,
// profiles, logins. Bytes go in; tables and values with their line numbers come
// out, and every problem with its line and the next step. It is pure, and bounds
// what a hostile file costs before the YAML library parses it. It refuses what
// such files do not need: anchors, aliases, merge keys and tags, keys that stand
// twice, and keys that mean nothing, for which it names the key that was meant.
package conf

#!/bin/sh
# Runs after the package went. Only a purge removes the journal, and only one that says itself
# that every change was taken back: where anything is open, or cannot be read, it stays.
[ ! -d /run/systemd/system ] || systemctl daemon-reload
[ "$1" = purge ] || exit 0
rm -rf /var/lib/linerate-serve # of linerate-serve.service: what it showed, and its ssh key
rm -rf /var/lib/linerate-agent # this host's place in a site: its key, which nothing else has
if [ -d /var/lib/linerate-sites ]; then
  echo "linerate: /var/lib/linerate-sites stays: without it no host of its sites can be reached again." >&2
  echo "linerate: where that is meant: rm -r /var/lib/linerate-sites" >&2
fi
state=/var/lib/linerate
[ -d "$state" ] || exit 0
open() {
  [ ! -e "$state/undo.sh" ] || return 0
  [ -s "$state/journal.jsonl" ] || return 1
  awk '{
    if (!match($0, /"seq":[0-9]+/)) exit 3
    n = substr($0, RSTART, RLENGTH)
    if (!match($0, /"state":"[a-z]+"/)) exit 3
    last[n] = substr($0, RSTART, RLENGTH)
  } END { for (n in last) if (last[n] !~ /"(undone|closed)"/) exit 4 }' "$state/journal.jsonl" && return 1
  return 0
}
if open; then
  echo "linerate: $state stays: changes are in force, and it holds what was before." >&2
  echo "linerate: take them back with: sh $state/undo.sh    then: rm -r $state" >&2
  exit 0
fi
rm -rf "$state"

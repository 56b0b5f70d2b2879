#!/bin/sh
# Runs before the package goes. A change that linerate made stays in force without it, so the
# user is told of it, and of the way back, which needs no linerate.
case $1 in
upgrade | 1) exit 0 ;; # the newer version undoes what this one did
esac
if [ -d /run/systemd/system ]; then
  for unit in linerate-serve.service linerate-agent.service 'linerate-site@*.service'; do
    systemctl disable --now "$unit" 2>/dev/null # where it was never enabled: nothing to say
  done
fi
if [ -e /var/lib/linerate/undo.sh ]; then
  echo "linerate: changes that it made on this host are in force, and stay so." >&2
  echo "linerate: take them back with: linerate tune undo    or, without it: sh /var/lib/linerate/undo.sh" >&2
fi
exit 0

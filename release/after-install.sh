#!/bin/sh
# Runs after an installation or an upgrade. It enables and starts nothing; a service that the
# user has running goes on with the version that is here now.
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart linerate-serve.service linerate-agent.service 'linerate-site@*.service'
exit 0

#!/bin/bash
# The agent's start: joins once with SIGNALBOX_JOIN_TOKEN, afterwards goes on as the host that it became.
set -euo pipefail
name="${SIGNALBOX_HOST_NAME:?the name that the token was made for}"
address="${SIGNALBOX_HOST_ADDRESS:?what brokers of this host bind and tell others}"
options=(--name "$name" --address "$address")
if [ ! -e "$SIGNALBOX_DATA/hosts/$name/agent.key" ]; then
    options+=(--join "${SIGNALBOX_JOIN_TOKEN:?from POST /api/v1/hosts/, for the first start}")
fi
exec python3 manage.py agent "${options[@]}" "$@"

#!/bin/sh
# The journeys use the Chromium in $CHROMIUM; where it is missing, Debian's is installed if that can be done.
set -eu
if [ -x "$CHROMIUM" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium fonts-dejavu-core
fi
if [ ! -x "$CHROMIUM" ]; then
    echo "There is no Chromium at $CHROMIUM. Install it (Debian: sudo apt-get install chromium)," >&2
    echo "or say where yours is: make browser CHROMIUM=/path/to/chromium" >&2
    exit 1
fi

#!/bin/sh
# Makes ./configure out of configure.ac.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --force

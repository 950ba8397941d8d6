#!/bin/bash
# Builds ../assets of this folder, the same bytes everywhere; with --check it compares them with those that are there.
# Needs node 18 or later, npm and a registry of npm packages, which package-lock.json names with their digests.
set -eu
cd "$(dirname "$0")"
[ -e node_modules/.package-lock.json ] && [ node_modules/.package-lock.json -nt package-lock.json ] ||
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
node_modules/.bin/tsc
exec node build.mjs "$@"

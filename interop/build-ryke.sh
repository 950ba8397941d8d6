#!/bin/sh
# Builds ryke-peer, a program around ryke 0.3.0, the IKEv2 library of crates.io. cargo fetches it by its name and checks it against ryke-peer's
# Cargo.lock; nothing of it is installed.
#
#   interop/build-ryke.sh          to target/ryke/release/ryke-peer, in less than a minute
#
# If crates.io cannot be reached, target/ryke/unreachable has the reason, and the tests with ryke are skipped with it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
manifest=$root/interop/ryke-peer/Cargo.toml
dir=$root/target/ryke
mkdir -p "$dir"
rm -f "$dir/unreachable"
command -v cargo >/dev/null || { echo "no cargo in PATH" >&2; exit 1; }
if ! cargo fetch --quiet --locked --manifest-path "$manifest" 2>"$dir/fetch.log"; then
    # Any other error is one of ours.
    if ! grep -qiE 'could not (connect|resolve)|timed out|failed to download|unable to update|offline mode' "$dir/fetch.log"; then
        cat "$dir/fetch.log" >&2
        exit 1
    fi
    tail -n 1 "$dir/fetch.log" | sed 's/^ *//' >"$dir/unreachable"
    echo "ryke cannot be fetched from crates.io: $(cat "$dir/unreachable")" >&2
    exit 0
fi
cargo build --quiet --release --locked --offline --manifest-path "$manifest" --target-dir "$dir"
echo "ryke-peer is $dir/release/ryke-peer"

#!/bin/sh
# Runs a fuzz target on the stable compiler: coverage-guided, without AddressSanitizer (our code has no `unsafe`).
#   fuzz/run.sh TARGET [SECONDS] [libFuzzer options]
# What it finds goes to fuzz/artifacts/TARGET, new inputs to fuzz/target/corpus/TARGET; the committed corpus is only read.
set -eu
cd "$(dirname "$0")"
target=$1
seconds=${2:-60}
shift
[ $# -eq 0 ] || shift
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS=$coverage cargo build --quiet --release --target "$host" --bin "$target"
mkdir -p "artifacts/$target" "target/corpus/$target"
exec "target/$host/release/$target" -max_total_time="$seconds" -max_len=4096 -artifact_prefix="artifacts/$target/" "$@" \
    "target/corpus/$target" "corpus/$target"

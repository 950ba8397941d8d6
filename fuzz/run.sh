#!/bin/bash
# Runs fuzz targets on the stable compiler: coverage-guided, without AddressSanitizer (our code has no `unsafe`).
#   fuzz/run.sh TARGET [SECONDS] [libFuzzer options]     one target, with all that libFuzzer says
#   fuzz/run.sh --all [SECONDS] [libFuzzer options]      every target, as many at once as there are cores, a line each
# What it finds goes to fuzz/artifacts/TARGET, new inputs to fuzz/target/corpus/TARGET; the committed corpus is only read.
set -eu -o pipefail
cd "$(dirname "$0")"
what=$1
seconds=${2:-60}
shift
[ $# -eq 0 ] || shift

if [ "$what" = --all ]; then
    # Of a target that Cargo.toml does not name, cargo says so.
    mapfile -t targets < <(basename --suffix=.rs fuzz_targets/*.rs)
else
    targets=("$what")
fi

coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
# One build of all: what the targets share is compiled once.
RUSTFLAGS=$coverage cargo build --quiet --release --target "$host" "${targets[@]/#/--bin=}"
mkdir -p "${targets[@]/#/artifacts/}" "${targets[@]/#/target/corpus/}" target/logs

# The longest datagram; an input that takes 20 s, or 1 GiB, is a fault as a crash is.
fuzz() {
    local target=$1
    shift
    "target/$host/release/$target" -max_total_time="$seconds" -max_len=65535 -timeout=20 -rss_limit_mb=1024 \
        -artifact_prefix="artifacts/$target/" "$@" "target/corpus/$target" "corpus/$target"
}

# A line when it has ended; the end of its log if it found something.
fuzz_briefly() {
    local target=$1 log=target/logs/$1.log
    if fuzz "$@" -print_final_stats=1 >"$log" 2>&1; then
        awk -v target="$target" '/^stat::number_of_executed_units:/ { runs = $2 }
            /^stat::average_exec_per_sec:/ { rate = $2 }
            END { if (!runs) exit 1; printf "%-20s %9d executions, %7d a second\n", target, runs, rate }' "$log"
    else
        printf '%s FAILED; inputs that do it: fuzz/artifacts/%s\n' "$target" "$target"
        tail -n 40 "$log"
        return 1
    fi
}

if [ "$what" != --all ]; then
    fuzz "$what" "$@"
    exit
fi
export host seconds
export -f fuzz fuzz_briefly
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_briefly "$@"' fuzz_briefly {} "$@"

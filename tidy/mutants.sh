#!/bin/bash
# Would the tests notice? Changes the files that decide who is let in, mutant by mutant, and says which changes no test of
# their package sees. Wants `cargo install --locked cargo-mutants`; hours for all, so take a part, or a random share:
#   tidy/mutants.sh                        every file of tidy/mutants.txt
#   tidy/mutants.sh radius/src/protect     the files whose path contains this
#   SHARE=1/20 tidy/mutants.sh             every twentieth mutant, evenly over the files
# What it finds is in target/mutants/PACKAGE/mutants.out: caught.txt, missed.txt, timeout.txt, unviable.txt.
set -eu -o pipefail
cd "$(dirname "$0")/.."
part=${1:-}
# Built once for each mutant and run once: time goes into the compiler, and properties need no more than a few cases.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false PROPTEST_CASES=24 PROPTEST_MAX_SHRINK_ITERS=0

# The package a file belongs to: keytoll-ike for protocols/ike/src/….
package() {
    local file=$1
    sed -n 's/^name = "\(.*\)"$/\1/p' "${file%%/src/*}/Cargo.toml" | head -n 1
}

mutate() {
    local package=$1
    shift
    mkdir -p "target/mutants/$package"
    local status=0
    nice -n 10 cargo mutants --package "$package" "${@/#/--file=}" --jobs 1 --timeout 120 --build-timeout 600 \
        --baseline skip --sharding round-robin --shard "${share:-0/1}" --output "target/mutants/$package" || status=$?
    # Mutants that no test saw, or that made tests run for ever, are what is looked for; anything else is trouble.
    case $status in 0 | 2 | 3) ;; *) return "$status" ;; esac
}

# cargo-mutants counts shards from 0: any of so many is as good as any other.
share=${SHARE:+0/${SHARE#*/}}
for package in $(grep -v '^#' tidy/mutants.txt | while read -r file; do package "$file"; done | sort -u); do
    files=()
    while read -r file; do
        if [ "$(package "$file")" = "$package" ] && [[ $file == *"$part"* ]]; then files+=("$file"); fi
    done < <(grep -v '^#' tidy/mutants.txt)
    [ ${#files[@]} -eq 0 ] || mutate "$package" "${files[@]}"
done

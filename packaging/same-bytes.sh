#!/bin/bash
# Checks that two builds of keytoll write the same bytes for the same plan and seed:
#   packaging/same-bytes.sh KEYTOLL OTHER_KEYTOLL
# With a cost table these are trace/, costs/, the CSV files, population.json and the rows of summary.json; without cryptography traces, counts
# and heap. As a positive control, another seed must change bytes.
set -eu -o pipefail

one=$(realpath "$1")
other=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"

# A plan with a row for each method: over LTE, or of a wireless LAN.
plan() {
    local name=$1 head=$2 method place
    printf 'title = "same"\n%s\n' "$head" >"$name.toml"
    for method in "${@:3}"; do
        place='network = "lte"'
        [[ $method != wpa* ]] || place='network = "wlan-11g"'$'\n''topology = "wlan"'
        printf '[[row]]\nmethod = "%s"\n%s\n' "$method" "$place" >>"$name.toml"
    done
}

fail() {
    printf 'packaging/same-bytes.sh: %s\n' "$*" >&2
    exit 1
}

# Runs a plan with a build, and prints a line for each part of the results: its checksum and its name.
sums() {
    local build=$1 plan=$2 seed=$3 out=$work/$4
    "$build" run "$plan.toml" --seed "$seed" --out "$out" >"$out.log" 2>&1 || fail "$build does not run $plan: $(<"$out.log")"
    cd "$out"
    sed -n '/^  "rows": \[/,/^  \]/p' summary.json >rows
    [ "$(wc -l <rows)" -gt 20 ] || fail "summary.json of $plan has no rows"
    [ "$plan" != null ] || without_times
    find . \( -path './trace/*' -o -path './costs/*' -o -name '*.csv' -o -name population.json -o -name rows \) -type f | sort | xargs sha256sum
}

# Without cryptography CPU times are measured; traces, counts and heap repeat.
without_times() {
    rm -r costs rows
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) timed[i] = $i ~ /_cpu_ns$|^disturbed$/ }
        { for (i in timed) if (timed[i]) $i = ""; print }' samples.csv >untimed.csv
    rm samples.csv
}

compare() {
    local plan=$1 changed
    (sums "$one" "$plan" 1 one) >one.sums
    (sums "$other" "$plan" 1 other) >other.sums
    (sums "$other" "$plan" 2 control) >control.sums
    diff one.sums other.sums >differing || fail "$plan differs: < is $one, > is $other"$'\n'"$(<differing)"
    changed=$(diff one.sums control.sums | grep -c '^>') || true
    [ "$changed" -gt 0 ] || fail "$plan has the same bytes with another seed"
    printf '%s: %d of %d parts differ with another seed, and none with another build\n' "$plan" "$changed" "$(wc -l <one.sums)"
    rm -r one* other* control*
}

# Enough authentications that small lists of nodes become maps. HIP makes real keys with any cryptography.
families=(ikev1-main-psk ikev2-rsa2048 ikev2-eap-aka ikev2-eap-peap-mschapv2 hip-dex-aka wpa3-eap-tls)
table='crypto = "table"'$'\n''costs = "reference"'
null='crypto = "null"'
population='population = { devices = 60, arrivals = "storm 60 in 2 s" }'

plan table "$table"$'\n''samples = 12' "${families[@]}"
plan null "$null"$'\n''samples = 12' "${families[@]}"
plan population "$table"$'\n'"$population" ikev2-psk ikev2-eap-aka
compare table
compare null
compare population

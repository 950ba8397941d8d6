#!/bin/bash
# How often `keytoll compare` finds a difference between runs of the same build, and how often 10 % more work per signature, on an idle
# machine and next to four busy loops. Prints the shares; judges nothing. Usage: .ci/comparisons.sh KEYTOLL [PAIRS]
set -euo pipefail
keytoll=$(realpath "$1")
pairs=${2:-20}
work=$(mktemp -d)
loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
methods=(ikev2-psk ikev2-rsa2048 ikev2-ecdsa-p256 ikev2-eap-mschapv2 ikev2-eap-tls hip-bex)
list=$(printf '"%s",' "${methods[@]}")

# measure DIR PERCENT: a run with signatures that take so many percent more
measure() {
  KEYTOLL_SLOWER_SIGNATURES_PERCENT=$2 "$keytoll" run quickstart --out "$1" --set "methods=[${list%,}]" \
    --set 'networks=["wifi-11g"]' --set samples=60 >/dev/null 2>&1
}

# count DIR DIR: verdicts on CPU times: all, judged, different; and whether RSA signatures take more
count() {
  "$keytoll" compare "$1" "$2" --json 2>/dev/null | jq -r '
    [.pairs[] | .a.method as $method | .contrasts[] | select(.measure | startswith("cpu_us.")) | {$method, verdict}]
    | [length, (map(select(.verdict != "cannot-be-judged")) | length),
       (map(select(.verdict == "more" or .verdict == "less")) | length),
       (if any(.[]; .method == "ikev2-rsa2048" and .verdict == "more") then 1 else 0 end)] | @tsv'
}

series() {
  for pair in $(seq "$pairs"); do
    measure "$work/$1-a$pair" 0
    measure "$work/$1-b$pair" 0
    measure "$work/$1-c$pair" 10
    count "$work/$1-a$pair" "$work/$1-b$pair" >>"$work/$1.same"
    count "$work/$1-a$pair" "$work/$1-c$pair" >>"$work/$1.slower"
  done
  awk -v where="$1" '{n+=$1; judged+=$2; differ+=$3} END {
    printf "%s: same build: %d of %d judged CPU times differ (%.1f %%), %d of %d judged (%.1f %%)\n",
      where, differ, judged, 100*differ/judged, judged, n, 100*judged/n}' "$work/$1.same"
  awk -v where="$1" '{found+=$4} END {
    printf "%s: 10 %% more work per signature: found in %d of %d runs\n", where, found, NR}' "$work/$1.slower"
}

series quiet
for _ in 1 2 3 4; do
  while :; do :; done &
  loops+=($!)
done
series loops

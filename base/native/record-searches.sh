#!/bin/bash
# Writes src/awslc/rsa/searches.bin: the searches for primes of all tests and built-in scenarios, those that rejected at least ten
# candidates. Takes as long as the tests.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
export KEYTOLL_SEARCHES=$PWD/target/searches.txt
rm -f "$KEYTOLL_SEARCHES"
# The known lengths must not be used while they are measured.
: >base/native/src/awslc/rsa/searches.bin
cargo test --workspace --no-fail-fast --features keytoll-native/record-searches
# Searches that occurred only once are left out.
LC_ALL=C sort "$KEYTOLL_SEARCHES" | uniq -d | awk 'substr($0, 21) >= "000a"' | xxd -r -p >base/native/src/awslc/rsa/searches.bin

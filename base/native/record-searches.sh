#!/bin/bash
# Writes src/awslc/rsa/searches.bin: the searches for primes of all tests and built-in scenarios, those that rejected at least ten
# candidates. Takes as long as the tests.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
table=base/native/src/awslc/rsa/searches.bin
export KEYTOLL_SEARCHES=$PWD/target/searches.txt
mkdir -p target
rm -f "$KEYTOLL_SEARCHES"
cp "$table" target/searches.bin
trap 'cp target/searches.bin "$table"' EXIT
# An empty table, because known searches are not measured; two tests need a full one.
: >"$table"
cargo test --workspace --no-fail-fast --features keytoll-native/record-searches -- \
    --skip records_are_sorted_and_unique --skip known_searches_give_the_keys_of_full_searches
# Searches that occurred only once are left out.
LC_ALL=C sort "$KEYTOLL_SEARCHES" | uniq -d | awk 'substr($0, 21) >= "000a"' | xxd -r -p >target/searches.new
mv target/searches.new target/searches.bin

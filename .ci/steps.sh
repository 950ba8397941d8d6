# The steps of .ci/run and .ci/full, which source this file. Each step prints how long it took.
set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true CARGO_TERM_COLOR=never DEBIAN_FRONTEND=noninteractive

step() {
    local begin=$SECONDS
    printf '\n== %s\n' "$*"
    "$@"
    printf '== %d s\n' $((SECONDS - begin))
}

packages() {
    command -v cargo >/dev/null || { echo "no cargo in PATH: install a Rust toolchain first" >&2; exit 1; }
    apt-get update -qq
    # ca-certificates and libssl-dev/pkg-config: cargo's downloads, and the feature `ossl`; musl-tools: packaging/build.sh;
    # valgrind: the instruction benchmark.
    apt-get install -y -qq --no-install-recommends \
        build-essential pkg-config libssl-dev ca-certificates dpkg-dev musl-tools valgrind >/dev/null
    # For the step `pages`, which opens a report in a browser and builds its script again. It needs node 18 or later, as in Debian 12, and npm.
    command -v chromium >/dev/null || apt-get install -y -qq --no-install-recommends chromium >/dev/null
    command -v npm >/dev/null || apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
    # The foreign daemons: strongswan-swanctl charon-systemd libstrongswan-standard-plugins
    # libstrongswan-extra-plugins libcharon-extra-plugins libcharon-extauth-plugins, freeradius, freeradius-utils, radsecproxy,
    # eapoltest, hostapd, wpasupplicant, freediameterd; nftables, conntrack, iproute2, iputils-ping, iperf3, openssl; tshark and scapy, which
    # check our captures and our ESP; libreswan and strongSwan 6.1, unpacked so that they do not replace strongSwan; a guest with simulated Wi-Fi. From Debian's
    # source of wpa, in less than a minute: eapol_test with card simulators, and hlr_auc_gw.
    interop/setup.sh
}

# Checks that the committed script of pages is the one that its source builds, and tests two pages in a browser: one with every element, and the
# report of a run. `cargo test` has built both programs.
pages() {
    local web=results/page/web
    $web/build.sh --check
    target/debug/examples/page >target/page.html
    node $web/test/browser.mjs target/page.html
    target/debug/keytoll run scenarios/quickstart.toml --out target/page-run >/dev/null
    TESTS='second|contents|comes near|scores|ranks again|without scripts' node $web/test/browser.mjs target/page-run/report.html
}

# Builds the package with the profile `trial`, which is quick to build, installs it and tries it.
package() {
    CARGO_BUILD_JOBS=1 nice -n 19 packaging/build.sh trial
}

# Compares instructions, blocks and bytes of the profile `dist` with the committed figures.
yardstick() {
    cargo bench --quiet -p keytoll-lab --bench yardstick
}

cargo_deny() {
    command -v cargo-deny >/dev/null || CARGO_PROFILE_DEV_DEBUG=0 nice -n 19 cargo install --quiet --locked --debug cargo-deny@0.20.2
}

deny() {
    # `advisories` is left out: its database is on github.com, which the build machines cannot reach.
    cargo deny check licenses bans sources
}

docs() {
    RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps
}

# The tests of pictures with the feature `svg`, separately: `cargo test --workspace` does not build QuickJS.
pictures() {
    cargo clippy --workspace --features keytoll/svg --test suite -- -D warnings
    cargo test --workspace --features keytoll/svg --test suite -- picture devices_authenticate_to_an_aaa_server
}

# Runs every study with five seeds. No verdict may depend on the seed.
studies() {
    local seed
    for seed in 1 2 3 4 5; do
        target/release/keytoll study all --seed "$seed" --out "target/studies-$seed" --force --json >/dev/null
    done
    .ci/verdicts.py target/studies-[1-5]
}

# The tests of the feature `parquet`.
columnar() {
    cargo clippy --workspace --features keytoll/parquet --lib --bin keytoll --test columnar -- -D warnings
    cargo test --workspace --features keytoll/parquet --test columnar
}

# With --workspace, because -p would select other features and build everything again.
interop_tests() {
    KEYTOLL_INTEROP=1 cargo test --workspace --test interop -- "$@"
}

# On a busy machine a daemon may time out while other tests run. So up to three failed tests are named and repeated one after another; a test
# that fails again fails the run.
interop() {
    local log=target/interop.log failed
    ! interop_tests "$@" 2>&1 | tee "$log" || return 0
    mapfile -t failed < <(failed_tests "$log")
    # A test that the list lacks would count as passed.
    grep --quiet "^test result: FAILED\. .* ${#failed[@]} failed;" "$log" || return 1
    [ ${#failed[@]} -ge 1 ] && [ ${#failed[@]} -le 3 ] || return 1
    printf '\n== failed beside others, now alone: %s\n' "${failed[*]}"
    interop_tests --test-threads=1 --exact "${failed[@]}" || return 1
}

# The names of the failed tests, from the last list of failures in a log of libtest. In the line of a test, output of the test can precede its name.
failed_tests() {
    awk '/^failures:$/ { n = 0 } /^    [a-z0-9_]+(::[a-z0-9_]+)*$/ { name[n++] = $1 } END { for (i = 0; i < n; i++) print name[i] }' "$1"
}

# The tests that the gate selects. libtest ignores names that do not exist, so the number of tests is compared with that of names.
interop_gate() {
    local names
    mapfile -t names < <(grep --invert-match '^#' interop/gate.txt)
    interop --test-threads=3 --exact "${names[@]}"
    grep --quiet "running ${#names[@]} tests" target/interop.log
}

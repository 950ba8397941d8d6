# The steps of .ci/run and .ci/full, which read this file. Each step prints how long it took.
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
    # A report is opened in a browser, and its script built again: node from 18, which Debian has, with npm.
    command -v chromium >/dev/null || apt-get install -y -qq --no-install-recommends chromium >/dev/null
    command -v npm >/dev/null || apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
    # The foreign daemons: strongswan-swanctl charon-systemd libstrongswan-standard-plugins
    # libstrongswan-extra-plugins libcharon-extra-plugins libcharon-extauth-plugins, freeradius, freeradius-utils,
    # eapoltest, hostapd, freediameterd; nftables, conntrack, iproute2, iputils-ping, iperf3, openssl; tshark and scapy, which check our
    # captures and our ESP; libreswan, unpacked so that it does not replace strongSwan. From Debian's source of wpa, in less than a minute: eapol_test with card simulators, and hlr_auc_gw.
    interop/setup.sh
}

# The script of pages is what its source builds; a page with one of everything does in a browser what it should, and the report of a
# run what depends on its content. Both programs were built by the tests.
pages() {
    local web=results/page/web
    $web/build.sh --check
    target/debug/examples/page >target/page.html
    node $web/test/browser.mjs target/page.html
    target/debug/keytoll run scenarios/quickstart.toml --out target/page-run >/dev/null
    TESTS='second|contents|comes near|scores|ranks again|without scripts' node $web/test/browser.mjs target/page-run/report.html
}

# The package with a program that is built quickly, which is installed and tried.
package() {
    CARGO_BUILD_JOBS=1 nice -n 19 packaging/build.sh trial
}

# Instructions, blocks and bytes of the profile `dist` compared with the committed figures.
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

# The tests of pictures, with the feature `svg`: the test command does not build QuickJS.
pictures() {
    cargo clippy --workspace --features keytoll/svg --test suite -- -D warnings
    cargo test --workspace --features keytoll/svg --test suite -- picture devices_authenticate_to_an_aaa_server
}

# The feature `parquet`, with which a crate that most others are built on has another feature, too.
columnar() {
    cargo clippy --workspace --features keytoll/parquet --lib --bin keytoll --test columnar -- -D warnings
    cargo test --workspace --features keytoll/parquet --test columnar
}

# The workspace's selection of features, because -p would select others and build everything again.
interop_tests() {
    KEYTOLL_INTEROP=1 cargo test --workspace --test interop -- "$@"
}

# On a busy machine a daemon may time out while other tests run: up to three failed tests are repeated one after another, and named. A test that
# fails again fails the run.
interop() {
    local log=target/interop.log failed
    ! interop_tests "$@" 2>&1 | tee "$log" || return 0
    mapfile -t failed < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")
    [ ${#failed[@]} -ge 1 ] && [ ${#failed[@]} -le 3 ] || return 1
    printf '\n== failed beside others, now alone: %s\n' "${failed[*]}"
    interop_tests --test-threads=1 --exact "${failed[@]}" || return 1
}

# The selection of the gate; libtest ignores names that do not exist, so their number is compared.
interop_gate() {
    local names
    mapfile -t names < <(grep --invert-match '^#' interop/gate.txt)
    interop --test-threads=3 --exact "${names[@]}"
    grep --quiet "running ${#names[@]} tests" target/interop.log
}

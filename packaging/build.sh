#!/bin/bash
# Builds what can be installed where there is no Rust toolchain, and tries it:
#   packaging/build.sh            target/packaging/keytoll, one static file, and target/packaging/keytoll_VERSION_ARCHITECTURE.deb
#   packaging/build.sh trial      the same in a third of the time, with a slower program: tries everything, but is not to be published
# Wants a Rust toolchain with the standard library for musl (asks rustup for it), a C compiler, Debian's musl-tools, and crates.io.
# Where rustup's server cannot be reached it links glibc instead and says so: that tries everything, but is not to be published.
set -eu -o pipefail
umask 022
cd "$(dirname "$0")/.."

profile=${1:-dist}
libc=musl
target=$(uname -m)-unknown-linux-$libc
out=$PWD/target/packaging
root=$out/root
doc=$root/usr/share/doc/keytoll
id=$(cargo pkgid --package keytoll)
version=${id##*[#@]}
architecture=$(dpkg --print-architecture)
deb=$out/keytoll_${version}_$architecture.deb
ordinary=$out/ordinary

fail() {
    printf 'packaging/build.sh: %s\n' "$*" >&2
    exit 1
}

has_standard_library() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || timeout 120 rustup target add "$target"
}

# glibc's resolver wants the libraries of the machine it runs on, and its licence asks more of who passes it on.
link_glibc() {
    echo "packaging/build.sh: no standard library for $target (\`rustup target add $target\` gets it): linking glibc," >&2
    echo "packaging/build.sh: which is good to try the package here, not to publish it" >&2
    libc=gnu
    target=$(uname -m)-unknown-linux-$libc
    export RUSTFLAGS="-C target-feature=+crt-static"
}

binary() {
    command -v musl-gcc >/dev/null || fail "no musl-gcc; \`apt-get install musl-tools\` gets it"
    has_standard_library || link_glibc
    cargo build --quiet --profile "$profile" --locked --package keytoll --bin keytoll --features svg --target "$target" --target-dir "$out"
    strip -o "$out/keytoll" "$out/$target/$profile/keytoll"
}

# Everything is linked in, so everybody's licence comes along: each text once, below the names of those that have it.
licences() {
    local texts crate file sum
    texts=$(mktemp -d)
    cargo tree --locked --package keytoll --features svg --edges normal --target "$target" --prefix none --no-dedupe \
        --format '{p}|{l}' | grep --invert-match ' (/' | sort -u >"$texts/crates"
    tr '|' '\t' <"$texts/crates"
    for crate in $(sed 's/ v/-/; s/[ |].*//' "$texts/crates"); do
        for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate"/{,aws-lc/}{LICEN,COPY,NOTICE,UNLICEN}*; do
            [ -f "$file" ] || continue
            sum=$(sha256sum <"$file")
            cp "$file" "$texts/${sum%% *}.text"
            echo "$crate" >>"$texts/${sum%% *}.names"
        done
    done
    for file in "$texts"/*.text; do
        printf '\n==== %s\n\n' "$(sort -u "${file%text}names" | paste -s -d ' ')"
        cat "$file"
    done
    printf '\n==== %s\n\n' "$libc"
    cat "/usr/share/doc/$([ "$libc" = musl ] && echo musl-dev || echo libc6-dev)/copyright"
    rm -r "$texts"
}

copyright() {
    echo "keytoll: MIT or Apache-2.0, as you like. The text of the latter is in /usr/share/common-licenses/Apache-2.0; the"
    echo "licences of the libraries in the program are in licences-of-libraries.gz beside this file."
    echo
    cat LICENSE-MIT
}

# Keys that scenarios/live/keys.sh has made stay here.
files() {
    local role
    rm -rf "$root"
    install -D "$out/keytoll" "$root/usr/bin/keytoll"
    "$out/keytoll" man "$root/usr/share/man/man1"
    mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d} "$doc"
    "$out/keytoll" completions bash >"$root/usr/share/bash-completion/completions/keytoll"
    "$out/keytoll" completions zsh >"$root/usr/share/zsh/vendor-completions/_keytoll"
    "$out/keytoll" completions fish >"$root/usr/share/fish/vendor_completions.d/keytoll.fish"
    tar --create --exclude=scenarios/live/keys README.md scenarios docs | tar --extract --no-same-permissions --directory "$doc"
    for role in gateway aaa hss; do
        install -D -m 644 /dev/stdin "$root/usr/lib/systemd/system/keytoll-$role@.service" < <(sed "s/@ROLE@/$role/g" packaging/systemd/keytoll@.service)
    done
    install -D -m 644 packaging/systemd/sysusers.conf "$root/usr/lib/sysusers.d/keytoll.conf"
    install -D -m 644 -t "$doc/systemd" packaging/systemd/{tun,raw}.conf
    copyright >"$doc/copyright"
    cp CHANGELOG.md "$doc/changelog"
    licences >"$doc/licences-of-libraries"
    gzip --best --no-name "$root"/usr/share/man/man1/* "$doc/changelog" "$doc/licences-of-libraries"
}

package() {
    mkdir "$root/DEBIAN"
    sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@KIB@/$(du -sk "$root" | cut -f1)/" \
        packaging/control >"$root/DEBIAN/control"
    install -m 755 packaging/{postinst,prerm} "$root/DEBIAN"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    # The dates inside are that of the commit. Set for dpkg-deb alone: compilers read it, too, and would begin anew at each commit.
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s) \
        dpkg-deb --root-owner-group --build "$root" "$deb" >/dev/null
}

assert_static() {
    ! readelf --wide --program-headers --dynamic "$1" | grep -E 'INTERP|NEEDED' || fail "$1 is not static"
}

assert_has() {
    [ -s "$1" ] || fail "the package lacks ${1#"$unpacked"}"
}

assert_complete() {
    local file verb
    for file in usr/share/{bash-completion/completions/keytoll,zsh/vendor-completions/_keytoll,man/man1/keytoll.1.gz} \
        usr/share/fish/vendor_completions.d/keytoll.fish \
        usr/lib/systemd/system/keytoll-{gateway,aaa,hss}@.service usr/lib/sysusers.d/keytoll.conf \
        usr/share/doc/keytoll/{systemd/tun.conf,systemd/raw.conf,copyright,README.md,licences-of-libraries.gz,docs/columns.md,scenarios/live/keys.sh}; do
        assert_has "$unpacked/$file"
    done
    for verb in $("$keytoll" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
        assert_has "$unpacked/usr/share/man/man1/keytoll-$verb.1.gz"
    done
    assert_has "$unpacked/usr/share/man/man1/keytoll-gateway.1.gz"
    ! find "$unpacked" -name '*.key' | grep . || fail "the package holds private keys"
}

assert_version() {
    local commit
    "$keytoll" --version | grep --quiet --fixed-strings "keytoll $version (" || fail "it does not say that it is $version"
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit="built outside its repository"
    "$keytoll" --version | grep --quiet --fixed-strings "$commit" || fail "it does not say its commit, $commit"
}

# A gateway and a device of the package on real sockets, at an address where nobody else is.
assert_connects() {
    local live=$unpacked/usr/share/doc/keytoll/scenarios/live gateway
    sed -i 's/"127\.0\.0\.1:/"127.15.5.1:/' "$live/device-psk.toml"
    "$keytoll" gateway "$live/gateway-psk.toml" --listen 127.15.5.1 2>"$unpacked/gateway.log" &
    gateway=$!
    until [ -s "$unpacked/gateway.log" ]; do sleep 0.1; done
    "$keytoll" connect "$live/device-psk.toml" >/dev/null || fail "a device does not reach its gateway: $(<"$unpacked/gateway.log")"
    kill "$gateway"
    wait "$gateway" || fail "the gateway did not end well: $(<"$unpacked/gateway.log")"
}

# The gate's own build, which links glibc, gives the same bytes as this one.
assert_same_bytes() {
    local commit
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit="built outside its repository"
    if [ -x "$ordinary" ] && "$ordinary" --version | grep --quiet --fixed-strings "$commit"; then
        packaging/same-bytes.sh "$keytoll" "$ordinary"
    elif [ -n "${CI:-}" ]; then
        fail "no target/debug/keytoll of this commit to compare with"
    else
        echo "packaging/build.sh: no target/debug/keytoll of this commit (\`cargo build\`): its bytes are not compared" >&2
    fi
}

# What is tried is what was packed.
try() {
    unpacked=$out/unpacked
    keytoll=$unpacked/usr/bin/keytoll
    rm -rf "$unpacked"
    dpkg-deb --extract "$deb" "$unpacked"
    assert_static "$keytoll"
    assert_complete
    assert_version
    "$keytoll" run quickstart --samples 2 --out "$unpacked/run" >/dev/null || fail "the quickstart fails"
    assert_connects
    assert_same_bytes
    rm -rf "$unpacked"
}

# The gate builds target/debug/keytoll with other features meanwhile: this keeps the file that is there now.
keep_ordinary() {
    mkdir -p "$out"
    rm -f "$ordinary"
    [ ! -x target/debug/keytoll ] || ln target/debug/keytoll "$ordinary"
}

keep_ordinary
binary
files
package
try
ls -l "$out/keytoll" "$deb"

//! Dependency directions between the crates, as the design draws them, and where crypto libraries may appear.

use std::collections::BTreeSet;

use keytoll_tidy::manifest::{Manifest, all};
use keytoll_tidy::none;

/// What a crate of `protocols/` may know: all of them the same, so that a new one needs no rule of its own.
const PROTOCOL: Allowed = allow(
    "",
    &["engine", "net", "crypto-api", "family"],
    "a protocol knows neither another protocol nor a crypto library nor a clock",
);

/// Stands for every crate of `protocols/` among what a crate may know.
const PROTOCOLS: &str = "protocols";

/// A crate, the crates it may know, and why no others.
struct Allowed {
    package: &'static str,
    knows: &'static [&'static str],
    because: &'static str,
}

const fn allow(package: &'static str, knows: &'static [&'static str], because: &'static str) -> Allowed {
    Allowed { package, knows, because }
}

const ALLOWED: &[Allowed] = &[
    allow("trace", &[], "facts are read by every later step and must not drag any of the earlier ones along"),
    allow("net", &[], "addresses and headers are what everything else stands on"),
    allow("crypto-api", &["trace"], "protocols and providers meet here, so it knows neither"),
    allow(
        "engine",
        &["trace", "net", "crypto-api"],
        "the contract of all engines stays free of what they are about",
    ),
    allow(
        "family",
        &["trace", "engine", "net", "crypto-api"],
        "families of protocols are known to captures by this contract, so it knows none of them",
    ),
    allow(
        "native",
        &[],
        "everything unsafe (FFI, allocator, cycle counter) stays small enough to be audited alone",
    ),
    allow(
        "crypto",
        &["crypto-api", "native"],
        "it implements the crypto door over native libraries, nothing else",
    ),
    allow(
        "pki",
        &["engine", "net", "crypto-api"],
        "certificates reach the engines through `Trust` and `Credential` alone",
    ),
    allow("document", &[], "documents are read alike whatever they are about"),
    allow(
        "scenario",
        &["engine", "net", "crypto-api", "document"],
        "a plan is data; reading it must not need a protocol or a world",
    ),
    allow(
        "census",
        &[],
        "counting knows numbers and times, whoever counts: the simulator, or load on real targets",
    ),
    allow(
        "hosts",
        &["engine", "net", "crypto-api", PROTOCOLS],
        "hosts wire engines together and run in every world, so they know none",
    ),
    allow(
        "rig",
        &["engine", "net", "crypto-api", "scenario", "hosts", "sim"],
        "the contract of rigs names no protocol and no world, so that one description serves all of them",
    ),
    allow(
        "rigs",
        &[
            "trace",
            "engine",
            "family",
            "net",
            "crypto-api",
            "native",
            "crypto",
            "pki",
            "scenario",
            PROTOCOLS,
            "hosts",
            "rig",
            "sim",
        ],
        "a rig describes and builds its nodes from the protocols that it knows; it runs none of them",
    ),
    allow(
        "sim",
        &["engine", "net", "crypto-api"],
        "the simulator knows no protocol: a new one needs no change there",
    ),
    allow(
        "live",
        &["engine", "net", "crypto-api", "family", "native", "crypto", "hosts", "sim", "capture"],
        "the live driver carries hosts, it does not look inside their protocols",
    ),
    allow(
        "capture",
        &["trace", "engine", "net", "family"],
        "a capture is written of bytes on a wire: what they mean, families say",
    ),
    allow(
        "decode",
        &["trace", "engine", "net", "family", "crypto", "capture"],
        "a capture is read by families that the caller names: a new one needs no change here",
    ),
    allow("daemons", &["native"], "third-party programs are started and watched, whatever they speak"),
    allow(
        "primitives",
        &["trace", "crypto-api", "native", "crypto"],
        "single operations are measured through the door, without any protocol",
    ),
    allow(
        "lab",
        &[
            "trace",
            "engine",
            "net",
            "crypto-api",
            "native",
            "crypto",
            "scenario",
            "census",
            "esp",
            "hosts",
            "rig",
            "rigs",
            "sim",
            "capture",
        ],
        "the lab drives rigs in the simulator, whatever they speak; results come later and from the trace alone",
    ),
    allow(
        "lab-live",
        &[
            "trace",
            "engine",
            "net",
            "crypto-api",
            "native",
            "crypto",
            "pki",
            "scenario",
            "census",
            "ike",
            "eap",
            "hosts",
            "rig",
            "rigs",
            "sim",
            "live",
            "capture",
            "daemons",
            "lab",
        ],
        "the same rigs in processes of their own; protocols are known to what configures foreign daemons alone",
    ),
    allow(
        "load",
        &["census", "engine", "net", "crypto-api", "native", "crypto", "hosts", "live"],
        "a load is a schedule, callers and sockets, whatever they speak: files and screens are read and shown elsewhere",
    ),
    allow(
        "metrics",
        &["trace"],
        "samples and their statistics are pure functions of the trace; a crate of its own, so that `release` optimizes them and no other result",
    ),
    allow(
        "analysis",
        &["trace", "metrics", "census", "document"],
        "findings are pure functions of the trace, or of the census of a population, so they can be made again from the file; what is not to be is written as in documents",
    ),
    allow(
        "ranking",
        &["analysis", "crypto-api", "document"],
        "a ranking is made of a summary and a file of criteria, with named random streams, and of nothing that ran",
    ),
    allow(
        "dimensioning",
        &["analysis"],
        "a sizing is arithmetic over a summary: whether a simulation agrees is looked at by who can run one",
    ),
    allow(
        "studies",
        &["trace", "analysis", "ranking", "dimensioning"],
        "a paper's account is made of findings, of a ranking or of a sizing, so it knows how to ask for them",
    ),
    allow("page", &[], "a page is texts, tables and charts, whatever they show"),
    allow(
        "report",
        &["analysis", "studies", "ranking", "dimensioning", "page"],
        "a report shows findings, rankings and sizings, and computes nothing",
    ),
    allow(
        "cli",
        &[
            "census",
            "trace",
            "engine",
            "net",
            "crypto-api",
            "native",
            "crypto",
            "scenario",
            "census",
            "ike",
            "hosts",
            "live",
            "primitives",
            "rigs",
            "lab",
            "lab-live",
            "load",
            "capture",
            "decode",
            "family",
            "analysis",
            "ranking",
            "dimensioning",
            "studies",
            "report",
        ],
        "the program calls the steps of the straight line, one verb each, and says what hosts on real sockets tell",
    ),
    allow("tidy", &[], "rules about the code must build when the code does not"),
    allow(
        "interop",
        &[
            "engine",
            "net",
            "crypto-api",
            "native",
            "crypto",
            "pki",
            PROTOCOLS,
            "hosts",
            "live",
            "daemons",
            "capture",
            "decode",
            "cli",
            "analysis",
            "scenario",
        ],
        "interoperability runs the live world against foreign daemons and attackers that speak every protocol, reads frames of a monitor interface as captures have them, and compares with the project's own statistics",
    ),
];

fn is_protocol(manifest: &Manifest) -> bool {
    manifest.path.starts_with("protocols/")
}

/// The rule of a crate.
fn rule(manifest: &Manifest, name: &str) -> Option<&'static Allowed> {
    if is_protocol(manifest) { Some(&PROTOCOL) } else { ALLOWED.iter().find(|rule| rule.package == name) }
}

/// `protocols`: the packages of `protocols/`.
fn directions(manifest: &Manifest, protocols: &BTreeSet<&str>) -> Vec<String> {
    // The program itself is called as its users call it.
    let name =
        if manifest.package == "keytoll" { Some("cli") } else { manifest.package.strip_prefix("keytoll-") };
    let Some(name) = name else {
        return vec![format!("{}: package {:?} lacks the prefix keytoll-", manifest.path, manifest.package)];
    };
    let Some(rule) = rule(manifest, name) else {
        return vec![format!(
            "{}: say in tidy/tests/dependencies.rs what {name} may know, and why",
            manifest.path
        )];
    };
    let knows = |dependency: &str| {
        let is_protocol = protocols.contains(dependency);
        rule.knows.contains(&dependency.trim_start_matches("keytoll-"))
            || (is_protocol && rule.knows.contains(&PROTOCOLS))
    };
    let ours = manifest.dependencies.iter().filter(|dependency| dependency.starts_with("keytoll-"));
    let wrong = ours.filter(|dependency| !knows(dependency));
    wrong
        .map(|other| format!("{}: {name} must not depend on {other}: {}", manifest.path, rule.because))
        .collect()
}

/// Beginnings of the names of crypto libraries.
const CRYPTO_FAMILIES: &[&str] =
    &["aws-lc", "openssl", "boring", "libcrux", "p256", "p384", "p521", "crypto-"];

/// Names of crypto libraries.
const CRYPTO_LIBRARIES: &[&str] = &[
    "aead",
    "aes",
    "aes-gcm",
    "block-modes",
    "cbc",
    "ccm",
    "chacha20",
    "chacha20poly1305",
    "cipher",
    "cmac",
    "ctr",
    "curve25519-dalek",
    "des",
    "digest",
    "ecdsa",
    "ed25519-dalek",
    "elliptic-curve",
    "graviola",
    "hmac",
    "k256",
    "md-5",
    "md4",
    "md5",
    "ml-kem",
    "orion",
    "poly1305",
    "rc4",
    "ring",
    "rsa",
    "rustls",
    "sha-1",
    "sha1",
    "sha2",
    "sha3",
    "x25519-dalek",
    "x448",
];

/// Crates with a library that has the name of a crypto library and, with the features chosen, no cryptography in it.
const HOLLOW: &[(&str, &str)] = &[("keytoll-tls", "rustls")];

fn crypto(manifest: &Manifest) -> Vec<String> {
    if manifest.package == "keytoll-native" {
        return Vec::new();
    }
    let is_crypto = |name: &&String| {
        CRYPTO_LIBRARIES.contains(&name.as_str())
            || CRYPTO_FAMILIES.iter().any(|family| name.starts_with(family))
    };
    let is_hollow = |name: &&String| HOLLOW.contains(&(manifest.package.as_str(), name.as_str()));
    let found = manifest.dependencies.iter().filter(is_crypto).filter(|name| !is_hollow(name));
    let because = "crypto libraries stop at base/native, so that every operation passes the metered door";
    found.map(|name| format!("{}: {name} may only be a dev-dependency: {because}", manifest.path)).collect()
}

#[test]
fn crates_know_only_what_the_design_lets_them() {
    let manifests = all().unwrap();
    let protocols = manifests.iter().filter(|it| is_protocol(it)).map(|it| it.package.as_str()).collect();
    none(&manifests.iter().flat_map(|manifest| directions(manifest, &protocols)).collect::<Vec<_>>());
}

#[test]
fn crypto_libraries_stop_at_native() {
    none(&all().unwrap().iter().flat_map(crypto).collect::<Vec<_>>());
}

#[test]
fn every_crate_inherits_the_lints() {
    // native allows `unsafe`, which an inherited `forbid` cannot be softened to.
    let loose = |manifest: &Manifest| !manifest.inherits_lints && manifest.package != "keytoll-native";
    let found = all().unwrap().into_iter().filter(loose);
    none(
        &found.map(|manifest| format!("{}: add [lints] workspace = true", manifest.path)).collect::<Vec<_>>(),
    );
}

#[test]
fn the_rules_bite() {
    let manifest = |package: &str, dependency: &str| Manifest {
        path: format!("{}/Cargo.toml", if package == "keytoll-ike" { "protocols/ike" } else { "x" }),
        package: package.into(),
        dependencies: vec![dependency.into()],
        inherits_lints: true,
    };
    let protocols = BTreeSet::from(["keytoll-ike", "keytoll-new-one"]);
    let complaints = |package, dependency| directions(&manifest(package, dependency), &protocols);
    assert_eq!(complaints("keytoll-ike", "keytoll-engine"), [""; 0]);
    let wrong = complaints("keytoll-ike", "keytoll-new-one");
    assert!(
        wrong[0].contains("ike must not depend on keytoll-new-one: a protocol knows neither"),
        "{wrong:?}"
    );
    assert_eq!(complaints("keytoll-rigs", "keytoll-new-one"), [""; 0]);
    assert_eq!(complaints("keytoll-sim", "keytoll-new-one").len(), 1);
    assert_eq!(complaints("keytoll-new", "serde").len(), 1);
    assert_eq!(complaints("other", "serde").len(), 1);
    assert_eq!(crypto(&manifest("keytoll-ike", "aws-lc-rs")).len(), 1);
    assert_eq!(crypto(&manifest("keytoll-pki", "sha2")).len(), 1);
    assert_eq!(crypto(&manifest("keytoll-native", "aws-lc-sys")), [""; 0]);
    assert_eq!(crypto(&manifest("keytoll-tls", "rustls")), [""; 0]);
    assert_eq!(crypto(&manifest("keytoll-tls", "ring")).len(), 1);
}

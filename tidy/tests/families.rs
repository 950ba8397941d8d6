//! A family of protocols is named in its own places and in the lists, and nowhere else: the proof that another one needs no
//! edit of what exists.

use keytoll_tidy::none;
use keytoll_tidy::source::{Source, all, words};

/// A family and where the code may name it.
struct Family {
    /// Parts of identifiers that name it, in small letters: `ike` is one of `IkeRig` and `rekey_ike`, not of `like`.
    names: &'static [&'static str],
    /// Its own files and folders.
    own: &'static [&'static str],
}

/// A list in which every family has a line, and what comes with it.
const LISTS: &[&str] = &[
    "world/rigs/src/lib.rs",
    "base/scenario/src/families/mod.rs",
    "world/hosts/src/lib.rs",
    "world/hosts/src/callers/mod.rs",
    "world/lab-live/src/foreign/mod.rs",
];

const FAMILIES: &[Family] = &[
    Family {
        names: &["ike", "ikev1", "ikev2", "isakmp"],
        own: &[
            "protocols/ike/",
            "world/rigs/src/ike/",
            // Device and gateway of IKE, in rows and in node files.
            "world/hosts/src/device/",
            "world/hosts/src/gateway.rs",
            "world/hosts/src/ike.rs",
            "world/hosts/src/eap_in_ike.rs",
            "world/hosts/src/callers/ike.rs",
            "world/rigs/src/node/",
            "base/scenario/src/families/ike/",
            "base/scenario/src/node/",
            // strongSwan and libreswan, which are IKE daemons.
            "world/daemons/",
            "world/lab-live/src/foreign/ike.rs",
        ],
    },
    Family {
        names: &["hip"],
        own: &[
            "protocols/hip/",
            "world/rigs/src/hip/",
            "base/scenario/src/families/hip",
            // Its nodes, beside those of IKE.
            "world/rigs/src/node/",
            "base/scenario/src/node/",
        ],
    },
    Family {
        names: &["wlan"],
        own: &[
            "protocols/wlan/",
            "world/rigs/src/wlan/",
            "base/scenario/src/families/wlan/",
            // A topology is named so, too.
            "base/scenario/src/catalogue/topologies.rs",
        ],
    },
    Family {
        names: &["knock"],
        own: &["protocols/knock/", "world/rigs/src/knock/", "base/scenario/src/families/knock.rs"],
    },
];

/// Files that name a family for another reason: path, reason. Entries only go away.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("base/crypto-api/src/suite.rs", "suites are written with the names of IKE's transforms"),
    ("base/scenario/src/catalogue/suites.rs", "the suites of IKE and ESP are a list of the catalogue"),
    ("base/scenario/src/options/settings.rs", "the suites that are agreed on are those of IKE"),
    ("base/scenario/src/resolve/values.rs", "a suite that cannot be read is compared with IKE's"),
    ("base/pki/src/purpose.rs", "RFC 4945 §5.1.3.12: certificates have a purpose of IKE's"),
    ("base/pki/src/trust.rs", "the same purpose"),
    ("world/rigs/src/credentials.rs", "the same purpose"),
    ("base/trace/src/revealed.rs", "what Wireshark has tables of keys for"),
    ("results/studies/src/", "the papers are about IKE"),
    ("results/report/src/example.rs", "an example of a run, for tests and schemas"),
];

fn is_at(source: &Source, places: &[&str]) -> bool {
    places.iter().any(|place| source.path.starts_with(place))
}

/// Where a file names families that are not its own.
fn strangers(source: &Source) -> Vec<String> {
    let is_exempt = EXCEPTIONS.iter().any(|(path, _)| source.path.starts_with(path));
    if source.is_test() || is_exempt || is_at(source, LISTS) || source.path.starts_with("interop/") {
        return Vec::new();
    }
    let others = FAMILIES.iter().filter(|family| !is_at(source, family.own));
    others.flat_map(|family| named(source, family)).collect()
}

fn named(source: &Source, family: &Family) -> Vec<String> {
    let lines = source.numbered().take(source.lines_before_tests());
    let naming = lines.filter_map(|(place, line)| {
        let name = words(&line.code).find(|word| family.names.contains(&word.as_str()))?;
        Some(format!(
            "{place}: names {name}: a family stands in its own places and in the lists (families.rs)"
        ))
    });
    naming.collect()
}

#[test]
fn families_are_named_in_their_own_places_and_in_the_lists() {
    none(&all().unwrap().iter().flat_map(strangers).collect::<Vec<_>>());
}

#[test]
fn every_exception_is_one() {
    let sources = all().unwrap();
    let names_any = |path: &str| {
        let mut there = sources.iter().filter(|source| source.path.starts_with(path));
        there.any(|source| FAMILIES.iter().any(|family| !named(source, family).is_empty()))
    };
    let unused = EXCEPTIONS.iter().filter(|(path, _)| !names_any(path));
    none(
        &unused.map(|(path, _)| format!("{path}: names no family any more, take it off")).collect::<Vec<_>>(),
    );
}

#[test]
fn the_rules_bite() {
    let source = |path: &str, text: &str| Source::read(path, text);
    let complaints = |path, text| strangers(&source(path, text)).len();
    assert_eq!(complaints("world/sim/src/x.rs", "use keytoll_ike::IKE;\nlet like = hike;\n"), 1);
    assert_eq!(complaints("world/sim/src/x.rs", "struct KnockRig;\nlet ship = hips;\n"), 1);
    assert_eq!(complaints("world/sim/src/x.rs", "// IKE\nlet name = \"ike\";\n"), 0);
    assert_eq!(complaints("protocols/knock/src/x.rs", "struct Knock;\n"), 0);
    assert_eq!(complaints("protocols/knock/src/x.rs", "struct IkeKnock;\n"), 1);
}

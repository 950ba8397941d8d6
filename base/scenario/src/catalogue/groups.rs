//! The groups for key agreement, with the documents that define them.

use keytoll_crypto_api::algorithm::Group;

use super::Entry;

/// How the list shows a group.
pub(super) fn entry(group: Group) -> Entry {
    Entry {
        name: group.name().to_owned(),
        summary: summary(group),
        source: source(group).to_owned(),
        standing: group.standing().mark(),
    }
}

fn summary(group: Group) -> String {
    let (family, note) = match group {
        _ if group.is_modp() => ("MODP", ""),
        Group::X448 => ("Curve448", "; only with the OpenSSL backend"),
        Group::X25519 => ("Curve25519", ""),
        _ => ("random ECP", ""),
    };
    format!("{family}, public value {} B{note}", group.public_len())
}

const fn source(group: Group) -> &'static str {
    match group {
        Group::Modp768 => "RFC 2409 §6.1",
        Group::Modp1024 => "RFC 7296 B.2",
        Group::Modp1536 => "RFC 3526 §2",
        Group::Modp2048 => "RFC 3526 §3",
        Group::Modp3072 => "RFC 3526 §4",
        Group::Modp4096 => "RFC 3526 §5",
        Group::Modp6144 => "RFC 3526 §6",
        Group::Modp8192 => "RFC 3526 §7",
        Group::Ecp256 => "RFC 5903 §3.1",
        Group::Ecp384 => "RFC 5903 §3.2",
        Group::Ecp521 => "RFC 5903 §3.3",
        Group::X25519 | Group::X448 => "RFC 8031",
    }
}

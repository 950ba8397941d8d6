//! SA payloads as text in strongSwan's notation: `aes128|aes256-sha256-x25519`, alternatives of one kind separated by a bar.
//! RFC 7296 §3.3.

use keytoll_crypto_api::algorithm::{Group, Integrity, Prf};

use crate::number::{Numbered, TransformType};
use crate::wire::{Attribute, ProposalRef, SecurityAssociation, Spi, Transform};

/// At most so many proposals are shown; the others are counted.
const PROPOSALS_SHOWN: usize = 3;

/// The first proposals.
pub fn proposals(sa: &SecurityAssociation<'_>) -> String {
    let shown = sa.proposals().take(PROPOSALS_SHOWN).map(|proposal| self::proposal(&proposal));
    let words = shown.collect::<Vec<_>>().join(" or ");
    match sa.proposals().count().saturating_sub(PROPOSALS_SHOWN) {
        0 => words,
        more => format!("{words} or {more} more"),
    }
}

/// The suite of the first proposal with its protocol, without the SPI; `None` if there is no proposal.
pub fn first_suite(sa: &SecurityAssociation<'_>) -> Option<String> {
    sa.proposals().next().map(|proposal| match proposal.spi {
        Spi::None | Spi::Ike(_) => suite(&proposal),
        Spi::Child(_) | Spi::Foreign => format!("{} {}", proposal.protocol, suite(&proposal)),
    })
}

fn proposal(proposal: &ProposalRef<'_>) -> String {
    let words = suite(proposal);
    match proposal.spi {
        Spi::None => words,
        Spi::Child(spi) => format!("{} {words} SPI {spi:#010x}", proposal.protocol),
        Spi::Ike(spi) => format!("{words} SPI {spi:016x}"),
        Spi::Foreign => format!("{} {words}", proposal.protocol),
    }
}

fn suite(proposal: &ProposalRef<'_>) -> String {
    const KINDS: [TransformType; 5] = [
        TransformType::ENCR,
        TransformType::INTEG,
        TransformType::PRF,
        TransformType::KE,
        TransformType::ESN,
    ];
    let of = |kind: TransformType| {
        let transforms = proposal.transforms().filter(|transform| transform.kind == kind);
        transforms.filter_map(|transform| self::transform(&transform)).collect::<Vec<_>>().join("|")
    };
    let mut words: Vec<String> = KINDS.into_iter().map(of).filter(|words| !words.is_empty()).collect();
    let others = proposal.transforms().filter(|transform| !KINDS.contains(&transform.kind));
    words.extend(others.map(|transform| format!("{}={}", transform.kind, transform.id)));
    words.join("-")
}

/// `None` for what is implied: no integrity with an AEAD, no group, no extended sequence numbers.
fn transform(transform: &Transform) -> Option<String> {
    let number = |name: &str| format!("{name}_{}", transform.id);
    Some(match transform.kind {
        TransformType::ENCR => transform.as_encryption().map_or_else(
            || match transform.attribute {
                Attribute::KeyLength(bits) => format!("ENCR_{}/{bits}", transform.id),
                _ => number("ENCR"),
            },
            |algorithm| algorithm.name().to_owned(),
        ),
        TransformType::INTEG | TransformType::KE | TransformType::ESN if transform.id == 0 => return None,
        TransformType::INTEG => {
            transform.algorithm::<Integrity>().map_or_else(|| number("INTEG"), |it| it.name().to_owned())
        }
        TransformType::PRF => {
            transform.algorithm::<Prf>().map_or_else(|| number("PRF"), |it| it.name().to_owned())
        }
        TransformType::KE => group(transform.id),
        _ => "esn".to_owned(),
    })
}

/// The group of this number.
pub fn group(number: u16) -> String {
    Group::from_number(number).map_or_else(|| format!("group {number}"), |group| group.name().to_owned())
}

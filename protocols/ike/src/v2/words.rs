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
        let transforms = of_kind(proposal, kind);
        transforms.filter_map(|transform| self::transform(&transform)).collect::<Vec<_>>().join("|")
    };
    let mut words: Vec<String> = KINDS.into_iter().map(of).filter(|words| !words.is_empty()).collect();
    for number in 1..=7 {
        let of = of_kind(proposal, TransformType(TransformType::ADDKE1.0 + number - 1));
        let groups = of.map(|transform| format!("ke{number}_{}", group(transform.id))).collect::<Vec<_>>();
        words.extend((!groups.is_empty()).then(|| groups.join("|")));
    }
    let is_named = |kind: TransformType| kind.is_registered();
    let others = proposal.transforms().filter(|transform| !is_named(transform.kind));
    words.extend(others.map(|transform| format!("{}={}", transform.kind, transform.id)));
    words.join("-")
}

fn of_kind<'a>(proposal: &'a ProposalRef<'_>, kind: TransformType) -> impl Iterator<Item = Transform> + 'a {
    proposal.transforms().filter(move |transform| transform.kind == kind)
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

/// The key exchange method of this number.
pub fn group(number: u16) -> String {
    let name = Group::from_number(number).map(Group::name).or_else(|| foreign_group(number));
    name.map_or_else(|| format!("group {number}"), str::to_owned)
}

/// Methods that we do not speak: IANA registry "Transform Type 4 - Key Exchange Method Transform IDs".
const fn foreign_group(number: u16) -> Option<&'static str> {
    Some(match number {
        0 => "none",
        22 => "modp1024s160",
        23 => "modp2048s224",
        24 => "modp2048s256",
        25 => "ecp192",
        26 => "ecp224",
        27 => "ecp224bp",
        28 => "ecp256bp",
        29 => "ecp384bp",
        30 => "ecp512bp",
        32 => "x448",
        33 => "gost3410-2012-256",
        34 => "gost3410-2012-512",
        35 => "mlkem512",
        36 => "mlkem768",
        37 => "mlkem1024",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::ProtocolId;
    use crate::wire::Proposal;
    use keytoll_net::wire::{Reader, Writer};

    /// What strongSwan 6 offers, in its own words. RFC 9370 §3, draft-ietf-ipsecme-ikev2-mlkem.
    #[test]
    fn additional_key_exchanges_are_named() {
        let of = |kind, id| Transform { kind, id, attribute: Attribute::None };
        let key_exchanges = [
            of(TransformType::KE, 31),
            of(TransformType::ADDKE1, 36),
            of(TransformType::ADDKE1, 0),
            of(TransformType::ADDKE2, 37),
            of(TransformType(13), 5),
        ];
        let proposal = Proposal {
            number: 1,
            protocol: ProtocolId::IKE,
            spi: Spi::None,
            transforms: key_exchanges.to_vec(),
        };
        let mut body = Writer::default();
        SecurityAssociation::write_proposals(&[proposal], &mut body);
        let body = body.finish();
        let sa = SecurityAssociation::read(&mut Reader::new(&body)).unwrap();
        assert_eq!(proposals(&sa), "x25519-ke1_mlkem768|ke1_none-ke2_mlkem1024-TransformType(13)=5");
    }
}

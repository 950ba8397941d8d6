//! Negotiation of suites: RFC 7296 §2.7, §3.3.3 (mandatory transform types), §3.3.6 (attribute negotiation), §1.3.
//!
//! We offer one proposal per suite, so AEADs and separate integrity algorithms are never in the same one (RFC 5282 §8).
//! Proposals of peers are evaluated one at a time.

use std::borrow::Cow;

use keytoll_crypto_api::algorithm::{Group, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;

use crate::number::{Numbered, ProtocolId, TRANSFORM_NONE, TransformType};
use crate::wire::{
    Attribute, KeyExchange, Notify, Proposal, ProposalRef, SecurityAssociation, Spi, Transform,
};

/// Whose order of preference decides among acceptable suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preference {
    /// The initiator's: its first acceptable proposal, and in it its first acceptable transforms.
    #[default]
    Initiator,
    /// The responder's: its first suite that was offered at all.
    Responder,
}

/// The result of a negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The number of the proposal.
    pub number: u8,
    /// Its protocol.
    pub protocol: ProtocolId,
    /// The other side's inbound SPI.
    pub spi: Spi,
    /// The suite.
    pub suite: Suite,
    /// The suite as the answer encodes it: one transform of every type that was offered.
    transforms: Vec<Transform>,
}

impl Chosen {
    /// The responder's answer with its inbound SPI.
    // RFC 7296 §3.3.1: the answer has the number of the accepted proposal.
    pub fn answer(self, spi: Spi) -> Proposal {
        Proposal { number: self.number, protocol: self.protocol, spi, transforms: self.transforms }
    }
}

/// Our offer: one proposal per suite, in order of preference; at most 255.
pub fn propose(protocol: ProtocolId, spi: Spi, suites: &[Suite]) -> Vec<Proposal> {
    // RFC 7296 §3.3.1: the first proposal has number 1, each next one more.
    let numbered = (1..=u8::MAX).zip(suites);
    numbered
        .map(|(number, suite)| Proposal { number, protocol, spi, transforms: transforms(protocol, suite) })
        .collect()
}

/// The transforms of a suite. Suites of IKE have no ESN transform, those of ESP no PRF.
fn transforms(protocol: ProtocolId, suite: &Suite) -> Vec<Transform> {
    KINDS.into_iter().filter_map(|kind| wanted(protocol, suite, kind)).collect()
}

/// The supported transform types.
const KINDS: [TransformType; 5] =
    [TransformType::ENCR, TransformType::PRF, TransformType::INTEG, TransformType::KE, TransformType::ESN];

/// The transform of one type in a suite, if any.
fn wanted(protocol: ProtocolId, suite: &Suite, kind: TransformType) -> Option<Transform> {
    match kind {
        TransformType::ENCR => Some(Transform::encryption(suite.encryption)),
        TransformType::PRF if protocol == ProtocolId::IKE => suite.prf.map(Transform::of),
        TransformType::INTEG => suite.integrity.map(Transform::of),
        TransformType::KE => suite.group.map(Transform::of),
        // RFC 7296 §3.3.3: ESN is mandatory for ESP and not used for IKE.
        TransformType::ESN if protocol == ProtocolId::ESP => Some(Transform::esn(suite.esn)),
        _ => None,
    }
}

/// Chooses as the responder; `None` if nothing offered is acceptable (NO_PROPOSAL_CHOSEN).
pub fn select(
    offered: &SecurityAssociation<'_>,
    protocol: ProtocolId,
    configured: &[Suite],
    preference: Preference,
) -> Option<Chosen> {
    let (candidate, rank, suite) = match preference {
        Preference::Initiator => candidates(offered, protocol).find_map(|candidate| {
            let ranked = configured.iter().filter_map(|suite| Some((candidate.rank(suite)?, suite)));
            ranked.min_by_key(|(rank, _)| *rank).map(|(rank, suite)| (candidate, rank, suite))
        }),
        Preference::Responder => {
            let mut candidates: Vec<_> = candidates(offered, protocol).collect();
            configured.iter().find_map(|suite| {
                let mut ranked = candidates.iter().map(|candidate| candidate.rank(suite)).enumerate();
                let (index, rank) = ranked.find_map(|(index, rank)| Some((index, rank?)))?;
                Some((candidates.swap_remove(index), rank, suite))
            })
        }
    }?;
    let ProposalRef { number, spi, .. } = candidate.proposal;
    let transforms = rank.into_iter().flatten().map(|index| candidate.transforms[index]).collect();
    Some(Chosen { number, protocol, spi, suite: *suite, transforms })
}

/// The positions of a suite's transforms in a proposal, by type; `None` for a type that the proposal does not have.
type Rank = [Option<usize>; KINDS.len()];

/// A proposal that may be chosen, with decoded transforms.
struct Candidate<'a> {
    proposal: ProposalRef<'a>,
    transforms: Vec<Transform>,
}

/// The proposals that are for this protocol and contain only supported transform types.
fn candidates<'a>(
    offered: &SecurityAssociation<'a>,
    protocol: ProtocolId,
) -> impl Iterator<Item = Candidate<'a>> + use<'a> {
    let proposals = offered.proposals().filter(move |proposal| proposal.protocol == protocol);
    let candidates =
        proposals.map(|proposal| Candidate { transforms: proposal.transforms().collect(), proposal });
    // RFC 7296 §3.3.6: a proposal with an unknown transform type must be skipped.
    candidates.filter(|one| one.transforms.iter().all(|transform| KINDS.contains(&transform.kind)))
}

impl Candidate<'_> {
    /// `None` if a transform of the suite is missing or a type is not in the suite. Lower ranks are preferred by the initiator.
    fn rank(&self, suite: &Suite) -> Option<Rank> {
        let mut rank = [None; KINDS.len()];
        for (place, kind) in rank.iter_mut().zip(KINDS) {
            *place = match wanted(self.proposal.protocol, suite, kind) {
                Some(wanted) => Some(self.transforms.iter().position(|offered| *offered == wanted)?),
                None => self.position_of_nothing(kind)?,
            };
        }
        Some(rank)
    }

    /// How it permits to omit a transform type: with NONE among its alternatives, or by not having the type at all.
    fn position_of_nothing(&self, kind: TransformType) -> Option<Option<usize>> {
        let none = self.transforms.iter().position(|transform| is_none(kind, *transform));
        let is_without = || self.transforms.iter().all(|transform| transform.kind != kind);
        (none.is_some() || is_without()).then_some(none)
    }
}

/// RFC 7296 §3.3.2: only INTEG and KE have a transform id NONE.
fn is_none(kind: TransformType, transform: Transform) -> bool {
    let none = Transform { kind, id: TRANSFORM_NONE, attribute: Attribute::None };
    matches!(kind, TransformType::INTEG | TransformType::KE) && transform == none
}

/// Why the initiator refuses the responder's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// Not exactly one proposal.
    #[error("the answer has {0} proposals, not one")]
    Count(usize),
    /// No proposal with this number and protocol was offered.
    #[error("proposal {0} was not offered")]
    Number(u8),
    /// A transform that was not in the proposal.
    #[error("transform {kind} {id} was not offered", kind = .0.kind, id = .0.id)]
    NotOffered(Transform),
    /// Two transforms of one type.
    #[error("two transforms of type {0} were chosen")]
    Twice(TransformType),
    /// No transform of a type that was offered.
    #[error("no transform of type {0} was chosen")]
    Missing(TransformType),
}

/// Checks the responder's choice against what we offered.
///
/// # Errors
/// The answer is not one that the offer permits.
// RFC 7296 §2.7: the initiator must check that the accepted offer is consistent with its proposals.
pub fn accept(answer: &SecurityAssociation<'_>, offered: &[Proposal]) -> Result<Chosen, AcceptError> {
    let mut proposals = answer.proposals();
    let (Some(chosen), None) = (proposals.next(), proposals.next()) else {
        return Err(AcceptError::Count(answer.proposals().count()));
    };
    let offer = offered
        .iter()
        .find(|offer| (offer.number, offer.protocol) == (chosen.number, chosen.protocol))
        .ok_or(AcceptError::Number(chosen.number))?;
    let transforms: Vec<Transform> = chosen.transforms().collect();
    check_subset(&transforms, offer)?;
    let suite = suite_of(&transforms).ok_or(AcceptError::Missing(TransformType::ENCR))?;
    Ok(Chosen { number: chosen.number, protocol: chosen.protocol, spi: chosen.spi, suite, transforms })
}

/// RFC 7296 §3.3.6: exactly one transform of each type that was offered, and no other.
fn check_subset(chosen: &[Transform], offer: &Proposal) -> Result<(), AcceptError> {
    for (index, transform) in chosen.iter().enumerate() {
        if !offer.transforms.contains(transform) {
            return Err(AcceptError::NotOffered(*transform));
        }
        if chosen[..index].iter().any(|earlier| earlier.kind == transform.kind) {
            return Err(AcceptError::Twice(transform.kind));
        }
    }
    let missing = offer.transforms.iter().find(|offered| chosen.iter().all(|one| one.kind != offered.kind));
    missing.map_or(Ok(()), |offered| Err(AcceptError::Missing(offered.kind)))
}

/// The suite of transforms from our own offer.
fn suite_of(transforms: &[Transform]) -> Option<Suite> {
    Some(Suite {
        encryption: transforms.iter().find_map(Transform::as_encryption)?,
        integrity: transforms.iter().find_map(Transform::algorithm::<Integrity>),
        prf: transforms.iter().find_map(Transform::algorithm::<Prf>),
        group: transforms.iter().find_map(Transform::algorithm::<Group>),
        esn: transforms.contains(&Transform::esn(true)),
    })
}

/// As the responder: checks that the KE payload fits the chosen suite.
///
/// # Errors
/// The group that INVALID_KE_PAYLOAD must name.
// RFC 7296 §1.2, §1.3: the group of the KE payload is the initiator's guess; the proposal decides.
pub fn check_group(suite: &Suite, ke: Option<&KeyExchange<'_>>) -> Result<(), Group> {
    match (suite.group, ke) {
        (Some(group), None) => Err(group),
        (Some(group), Some(ke)) if ke.group() != Some(group) => Err(group),
        _ => Ok(()),
    }
}

/// As the initiator: the group in INVALID_KE_PAYLOAD, if we offered it and did not just try it.
// RFC 7296 §2.7: a group that was never proposed must not be used, nor may the exchange be repeated for ever.
pub fn corrected_group(notify: &Notify<'_>, offered: &[Suite], tried: Group) -> Option<Group> {
    let group = Group::from_number(u16::from_be_bytes(notify.data.try_into().ok()?))?;
    let was_offered = offered.iter().any(|suite| suite.group == Some(group));
    (was_offered && group != tried).then_some(group)
}

/// The suites as IKE_AUTH negotiates them, without groups and without duplicates.
// RFC 7296 §1.2: IKE_AUTH has no KE payload, so its SA payload has no KE transform.
pub fn without_groups(suites: &[Suite]) -> Cow<'_, [Suite]> {
    let is_plain = |(at, suite): (usize, &Suite)| suite.group.is_none() && !suites[..at].contains(suite);
    if suites.iter().enumerate().all(is_plain) {
        return Cow::Borrowed(suites);
    }
    let mut plain: Vec<Suite> = Vec::with_capacity(suites.len());
    for suite in suites {
        let suite = Suite { group: None, ..*suite };
        if !plain.contains(&suite) {
            plain.push(suite);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{ExchangeType, NotifyType};
    use crate::wire::{Flags, Header, Message, MessageBuilder, Payload};
    use keytoll_crypto_api::algorithm::Encryption;
    use proptest::prelude::*;

    fn ike(text: &str) -> Suite {
        Suite::ike(text).unwrap()
    }

    fn esp(text: &str) -> Suite {
        Suite::esp(text).unwrap()
    }

    /// Passes the encoded SA payload to the other side.
    fn sent<T>(proposals: &[Proposal], then: impl FnOnce(&SecurityAssociation<'_>) -> T) -> T {
        let header = Header::new((1, 0), ExchangeType::IKE_SA_INIT, Flags::INITIATOR, 0);
        let mut builder = MessageBuilder::plain(&header);
        builder.security_association(proposals);
        let bytes = builder.finish();
        let message = Message::read(&bytes).unwrap();
        let Payload::SecurityAssociation(sa) = &message.payloads[0] else {
            panic!("the SA payload comes back")
        };
        then(sa)
    }

    fn negotiate(offer: &[Proposal], configured: &[Suite], preference: Preference) -> Option<Chosen> {
        sent(offer, |sa| select(sa, offer[0].protocol, configured, preference))
    }

    /// An offer in strongSwan's style: every alternative in one proposal.
    fn alternatives(protocol: ProtocolId, transforms: Vec<Transform>) -> Vec<Proposal> {
        let spi = if protocol == ProtocolId::ESP { Spi::Child(7) } else { Spi::None };
        vec![Proposal { number: 1, protocol, spi, transforms }]
    }

    fn check_answer(chosen: &Chosen, offer: &[Proposal], spi: Spi) {
        let accepted = sent(&[chosen.clone().answer(spi)], |sa| accept(sa, offer)).unwrap();
        assert_eq!((accepted.suite, accepted.number, accepted.spi), (chosen.suite, chosen.number, spi));
    }

    #[test]
    fn the_order_of_the_initiator_decides_unless_the_responder_insists() {
        let (a, b) = (ike("aes128gcm16-prfsha256-x25519"), ike("aes256-sha384-ecp384"));
        let offer = propose(ProtocolId::IKE, Spi::None, &[a, b]);
        let chosen = negotiate(&offer, &[b, a], Preference::Initiator).unwrap();
        assert_eq!((chosen.number, chosen.suite), (1, a));
        let chosen = negotiate(&offer, &[b, a], Preference::Responder).unwrap();
        assert_eq!((chosen.number, chosen.suite), (2, b));
        check_answer(&chosen, &offer, Spi::None);
        assert_eq!(negotiate(&offer, &[ike("aes128-sha256-x25519")], Preference::Initiator), None);
    }

    #[test]
    fn alternatives_in_one_proposal_are_chosen_from_in_their_order() {
        let offer = alternatives(
            ProtocolId::IKE,
            vec![
                Transform::encryption(Encryption::Aes256Cbc),
                Transform::encryption(Encryption::Aes128Cbc),
                Transform::of(Integrity::HmacSha256_128),
                Transform::of(Prf::HmacSha256),
                Transform::of(Group::Ecp256),
                Transform::of(Group::X25519),
            ],
        );
        let configured =
            [ike("aes128-sha256-x25519"), ike("aes256-sha256-x25519"), ike("aes256-sha256-ecp256")];
        let chosen = negotiate(&offer, &configured, Preference::Initiator).unwrap();
        assert_eq!(chosen.suite, configured[2]);
        let chosen = negotiate(&offer, &configured, Preference::Responder).unwrap();
        assert_eq!(chosen.suite, configured[0]);
        check_answer(&chosen, &offer, Spi::None);
    }

    #[test]
    fn an_explicit_none_is_answered_with_none() {
        let none = Transform { kind: TransformType::INTEG, id: 0, attribute: Attribute::None };
        let gcm = Transform::encryption(Encryption::Aes128Gcm16);
        let offer = alternatives(ProtocolId::ESP, vec![gcm, none, Transform::esn(false)]);
        let chosen = negotiate(&offer, &[esp("aes128gcm16")], Preference::Initiator).unwrap();
        assert_eq!(chosen.clone().answer(Spi::Child(9)).transforms, [gcm, none, Transform::esn(false)]);
        check_answer(&chosen, &offer, Spi::Child(9));
        let sha1 = Transform::of(Integrity::HmacSha1_96);
        let offer = alternatives(ProtocolId::ESP, vec![gcm, sha1, Transform::esn(false)]);
        assert_eq!(negotiate(&offer, &[esp("aes128gcm16")], Preference::Initiator), None);
    }

    #[test]
    fn unknown_transform_types_and_attributes_rule_a_proposal_out() {
        let gcm = Transform::encryption(Encryption::Aes128Gcm16);
        let addke = Transform { kind: TransformType(6), id: 36, attribute: Attribute::None };
        let offer = alternatives(ProtocolId::ESP, vec![gcm, Transform::esn(false), addke]);
        assert_eq!(negotiate(&offer, &[esp("aes128gcm16")], Preference::Initiator), None);
        let no_length = Transform { attribute: Attribute::None, ..gcm };
        let offer = alternatives(ProtocolId::ESP, vec![no_length, Transform::esn(false)]);
        assert_eq!(negotiate(&offer, &[esp("aes128gcm16")], Preference::Initiator), None);
        let offer = alternatives(ProtocolId::ESP, vec![gcm]);
        assert_eq!(negotiate(&offer, &[esp("aes128gcm16")], Preference::Initiator), None, "no ESN transform");
    }

    #[test]
    fn groups_and_extended_sequence_numbers_of_children_must_match() {
        let offer =
            propose(ProtocolId::ESP, Spi::Child(5), &[esp("aes128gcm16-x25519"), esp("aes128gcm16-esn")]);
        let chosen =
            negotiate(&offer, &[esp("aes128gcm16"), esp("aes128gcm16-esn")], Preference::Initiator).unwrap();
        assert_eq!((chosen.number, chosen.suite, chosen.spi), (2, esp("aes128gcm16-esn"), Spi::Child(5)));
        assert_eq!(
            *without_groups(&[esp("aes128gcm16-x25519"), esp("aes128gcm16-ecp256")]),
            [esp("aes128gcm16")]
        );
        assert_eq!(*without_groups(&[esp("aes128gcm16"); 2]), [esp("aes128gcm16")]);
    }

    #[test]
    fn answers_that_were_not_offered_are_refused() {
        let suites = [ike("aes128gcm16-prfsha256-x25519"), ike("aes256-sha384-ecp384")];
        let offer = propose(ProtocolId::IKE, Spi::None, &suites);
        let refused = |change: &dyn Fn(&mut Vec<Proposal>)| {
            let mut answer = vec![offer[0].clone()];
            change(&mut answer);
            sent(&answer, |sa| accept(sa, &offer)).unwrap_err()
        };
        let (x25519, ecp384) = (Transform::of(Group::X25519), Transform::of(Group::Ecp384));
        assert_eq!(refused(&|answer| answer.push(offer[1].clone())), AcceptError::Count(2));
        assert_eq!(refused(&|answer| answer[0].number = 3), AcceptError::Number(3));
        assert_eq!(refused(&|answer| answer[0].transforms[2] = ecp384), AcceptError::NotOffered(ecp384));
        assert_eq!(
            refused(&|answer| answer[0].transforms.push(x25519)),
            AcceptError::Twice(TransformType::KE)
        );
        let missing = refused(&|answer| answer[0].transforms.truncate(2));
        assert_eq!(missing.to_string(), "no transform of type KE was chosen");
    }

    #[test]
    fn a_wrong_guess_of_the_group_is_corrected_once() {
        let suites = [ike("aes128gcm16-prfsha256-x25519"), ike("aes128gcm16-prfsha256-ecp256")];
        let guess = KeyExchange::new(Group::Ecp256, &[]);
        assert_eq!(check_group(&suites[0], Some(&guess)), Err(Group::X25519));
        assert_eq!(check_group(&suites[1], Some(&guess)), Ok(()));
        assert_eq!(check_group(&suites[1], None), Err(Group::Ecp256));
        assert_eq!(check_group(&esp("aes128gcm16"), None), Ok(()));
        let asked = |group: u16, tried| {
            let data = group.to_be_bytes();
            corrected_group(&Notify::new(NotifyType::INVALID_KE_PAYLOAD, &data), &suites, tried)
        };
        assert_eq!(asked(31, Group::Ecp256), Some(Group::X25519));
        assert_eq!(asked(31, Group::X25519), None, "just tried");
        assert_eq!(asked(2, Group::X25519), None, "never offered");
        assert_eq!(
            corrected_group(&Notify::new(NotifyType::INVALID_KE_PAYLOAD, &[0]), &suites, Group::X25519),
            None
        );
    }

    fn suites() -> impl Strategy<Value = Suite> {
        let encryption = proptest::sample::select(Encryption::ALL);
        let integrity = proptest::sample::select(Integrity::ALL);
        let (prf, group) = (proptest::sample::select(Prf::ALL), proptest::sample::select(Group::ALL));
        (encryption, integrity, prf, group).prop_map(|(encryption, integrity, prf, group)| {
            let integrity = (!encryption.is_aead()).then_some(integrity);
            Suite { encryption, integrity, prf: Some(prf), group: Some(group), esn: false }
        })
    }

    proptest! {
        #[test]
        fn what_both_have_is_agreed(ours in proptest::collection::vec(suites(), 1..8), theirs in proptest::collection::vec(suites(), 0..8), common in suites()) {
            let theirs = [theirs, vec![common]].concat();
            let offer = propose(ProtocolId::IKE, Spi::None, &[ours, vec![common]].concat());
            for preference in [Preference::Initiator, Preference::Responder] {
                let chosen = negotiate(&offer, &theirs, preference).unwrap();
                prop_assert!(theirs.contains(&chosen.suite));
                check_answer(&chosen, &offer, Spi::None);
            }
        }
    }
}

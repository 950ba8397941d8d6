//! Negotiation: transforms from suites and back. Read RFC 2409 §4, appendix A (phase 1), RFC 2407 §4.5 (phase 2) first.
//!
//! A transform of IKEv1 is a whole suite, so that an offer is one proposal with a transform for each suite.

use std::time::Duration;

use keytoll_crypto_api::algorithm::{Encryption, Group, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;
use keytoll_net::wire::Writer;

use super::number::{
    self, AuthenticationMethod, EncapsulationMode, KEY_IKE, KILOBYTES, Phase1Attribute, Phase2Attribute,
    SECONDS, encryption_number, hash_number, integrity_number,
};
use super::wire::{
    Attribute, Attributes, Proposal, ProposalRef, SecurityAssociation, Transform, TransformRef,
};
use crate::config::{ChildConfig, Mode, V1};
use crate::number::{Numbered, ProtocolId};

/// A decoded transform of phase 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase1Transform {
    /// Encryption, PRF and group.
    algorithms: (Encryption, Prf, Group),
    /// How both sides prove themselves.
    pub method: AuthenticationMethod,
    /// Lifetime of the ISAKMP SA, if given.
    pub lifetime: Option<Duration>,
}

/// A decoded transform of phase 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase2Transform {
    /// Encryption, integrity and group.
    algorithms: (Encryption, Option<Integrity>, Option<Group>),
    /// Tunnel or transport.
    pub mode: Mode,
    /// In UDP.
    pub encapsulated: bool,
    /// Lifetime of the SAs, if given.
    pub lifetime: Option<Duration>,
    /// Traffic limit in kilobytes, if given.
    pub kilobytes: Option<u64>,
}

/// Lifetime of a pair of IPsec SAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifespan {
    /// In time.
    pub time: Duration,
    /// Traffic limit in kilobytes, if there is one.
    pub kilobytes: Option<u64>,
}

/// RFC 2407 §4.5 does not say whether it has 24 bytes more; the smaller value never exceeds the peer's limit.
const KILOBYTE: u64 = 1000;

impl From<Duration> for Lifespan {
    fn from(time: Duration) -> Self {
        Self { time, kilobytes: None }
    }
}

impl Lifespan {
    /// The configured limits of a connection; less than a kilobyte cannot be expressed.
    pub(super) fn of(wishes: &V1) -> Self {
        let kilobytes = wishes.child_bytes_max.map(|bytes| (bytes / KILOBYTE).max(1));
        Self { time: wishes.child_lifetime, kilobytes }
    }

    /// The smaller of both limits in either respect.
    #[must_use]
    pub(super) fn within(self, time: Option<Duration>, kilobytes: Option<u64>) -> Self {
        let shortest = [self.kilobytes, kilobytes].into_iter().flatten().min();
        Self { time: time.map_or(self.time, |time| time.min(self.time)), kilobytes: shortest }
    }

    /// The traffic limit in bytes.
    pub(super) fn bytes_max(self) -> Option<u64> {
        self.kilobytes.map(|kilobytes| kilobytes.saturating_mul(KILOBYTE))
    }
}

/// Encryption, PRF and group of a suite; `None` if IKEv1 has no numbers for them.
fn phase1_algorithms(suite: &Suite) -> Option<(Encryption, Prf, Group)> {
    let (prf, group) = (suite.prf?, suite.group?);
    encryption_number(suite.encryption)?;
    hash_number(prf)?;
    Some((suite.encryption, prf, group))
}

fn phase2_algorithms(suite: &Suite) -> Option<(Encryption, Option<Integrity>, Option<Group>)> {
    number::transform_number(suite.encryption)?;
    // RFC 2407 §4.5: there is no attribute for extended sequence numbers; RFC 4304, which adds it, is not supported.
    let named = !suite.esn && suite.integrity.is_none_or(|integrity| integrity_number(integrity).is_some());
    named.then_some((suite.encryption, suite.integrity, suite.group))
}

/// Whether IKEv1 can negotiate a suite for its ISAKMP SA.
pub fn can_negotiate(suite: &Suite) -> bool {
    phase1_algorithms(suite).is_some()
}

/// Whether IKEv1 can negotiate a suite for IPsec.
pub fn can_negotiate_child(suite: &Suite) -> bool {
    phase2_algorithms(suite).is_some()
}

/// The body of an SA payload.
pub(super) fn sa_body(proposal: &Proposal) -> Vec<u8> {
    let mut w = Writer::with_capacity(128);
    proposal.write_sa(&mut w);
    w.finish()
}

/// The offer of phase 1.
pub fn propose(suites: &[Suite], method: AuthenticationMethod, lifetime: Duration) -> Proposal {
    let named = suites.iter().filter_map(phase1_algorithms);
    let transforms = (1..=u8::MAX).zip(named).map(|(number, algorithms)| {
        Transform::new(number, KEY_IKE, &phase1_attributes(algorithms, method, lifetime))
    });
    Proposal { number: 1, protocol: ProtocolId::IKE, spi: None, transforms: transforms.collect() }
}

fn phase1_attributes(
    (encryption, prf, group): (Encryption, Prf, Group),
    method: AuthenticationMethod,
    lifetime: Duration,
) -> Vec<Attribute> {
    use Phase1Attribute as A;
    let (cipher, key_length) = encryption_number(encryption).expect("only suites with numbers are offered");
    let (_, hash) = hash_number(prf).expect("only suites with numbers are offered");
    let attribute = |kind: A, value| Attribute::new(kind.0, value);
    let mut attributes = vec![attribute(A::ENCRYPTION_ALGORITHM, cipher.into())];
    attributes.extend(key_length.map(|bits| attribute(A::KEY_LENGTH, bits.into())));
    attributes.extend([
        attribute(A::HASH_ALGORITHM, hash.into()),
        attribute(A::GROUP_DESCRIPTION, group.number().into()),
        attribute(A::AUTHENTICATION_METHOD, method.0.into()),
        attribute(A::LIFE_TYPE, SECONDS),
        attribute(A::LIFE_DURATION, lifetime.as_secs()),
    ]);
    attributes
}

/// RFC 2407 §4.5.4 does not limit lifetimes; 136 years are enough, and arithmetic does not overflow.
const SECONDS_MAX: u64 = u32::MAX as u64;

/// Attribute numbers by type, and lifetimes.
struct Values<const N: usize> {
    numbers: [Option<u16>; N],
    lifetime: Option<Duration>,
    kilobytes: Option<u64>,
}

impl<const N: usize> Values<N> {
    /// `None` if an attribute is not among `kinds`, occurs twice, or has an invalid value. A lifetime of zero sets no limit: charon writes it for
    /// an SA that it does not replace, and one that ends at once would be replaced endlessly.
    fn read(
        attributes: Attributes<'_>,
        kinds: [u16; N],
        (life_type, life_duration): (u16, u16),
    ) -> Option<Self> {
        let mut values = Self { numbers: [None; N], lifetime: None, kilobytes: None };
        let mut unit = None;
        for Attribute { kind, value } in attributes.iter() {
            let value = value?;
            if kind == life_type {
                unit = Some(value);
            } else if kind == life_duration {
                // RFC 2407 §4.5: a duration belongs to the type before it.
                match unit.take()? {
                    _ if value == 0 => {}
                    SECONDS => values.lifetime = Some(Duration::from_secs(value.min(SECONDS_MAX))),
                    KILOBYTES => values.kilobytes = Some(value),
                    _ => {}
                }
            } else {
                let slot = kinds.iter().position(|known| *known == kind)?;
                let before = values.numbers[slot].replace(u16::try_from(value).ok()?);
                before.is_none().then_some(())?;
            }
        }
        Some(values)
    }
}

impl Phase1Transform {
    /// `None` if it is one we could never choose.
    pub fn read(transform: &TransformRef<'_>) -> Option<Self> {
        use Phase1Attribute as A;
        if transform.id != KEY_IKE {
            return None;
        }
        let kinds = [
            A::ENCRYPTION_ALGORITHM.0,
            A::KEY_LENGTH.0,
            A::HASH_ALGORITHM.0,
            A::GROUP_DESCRIPTION.0,
            A::AUTHENTICATION_METHOD.0,
        ];
        let life = (A::LIFE_TYPE.0, A::LIFE_DURATION.0);
        let Values { numbers: [cipher, key_length, hash, group, method], lifetime, .. } =
            Values::read(transform.attributes, kinds, life)?;
        let (cipher, hash) = (Some((cipher?, key_length)), hash?);
        let encryption =
            *Encryption::ALL.iter().find(|&&algorithm| encryption_number(algorithm) == cipher)?;
        let prf =
            *Prf::ALL.iter().find(|&&prf| hash_number(prf).is_some_and(|(_, number)| number == hash))?;
        let algorithms = (encryption, prf, Group::from_number(group?)?);
        Some(Self { algorithms, method: AuthenticationMethod(method?), lifetime })
    }

    /// Its suite, if it is one of these.
    pub fn suite(&self, suites: &[Suite]) -> Option<Suite> {
        suites.iter().copied().find(|suite| phase1_algorithms(suite) == Some(self.algorithms))
    }

    /// Its suite, whether or not it would be chosen.
    pub const fn to_suite(&self) -> Suite {
        let (encryption, prf, group) = self.algorithms;
        Suite { encryption, integrity: None, prf: Some(prf), group: Some(group), esn: false }
    }
}

impl Phase2Transform {
    /// `None` if it is one we could never choose.
    pub fn read(transform: &TransformRef<'_>) -> Option<Self> {
        use Phase2Attribute as A;
        let kinds =
            [A::KEY_LENGTH.0, A::AUTHENTICATION_ALGORITHM.0, A::GROUP_DESCRIPTION.0, A::ENCAPSULATION_MODE.0];
        let life = (A::SA_LIFE_TYPE.0, A::SA_LIFE_DURATION.0);
        let Values { numbers: [key_length, integrity, group, mode], lifetime, kilobytes } =
            Values::read(transform.attributes, kinds, life)?;
        let encryption = number::transform(transform.id, key_length)?;
        let integrity = match integrity {
            Some(number) => Some(*Integrity::ALL.iter().find(|&&one| integrity_number(one) == Some(number))?),
            None => None,
        };
        let group = match group {
            Some(number) => Some(Group::from_number(number)?),
            None => None,
        };
        let (mode, encapsulated) = read_mode(mode)?;
        Some(Self { algorithms: (encryption, integrity, group), mode, encapsulated, lifetime, kilobytes })
    }

    /// Its suite, if it is one of these.
    pub fn suite(&self, suites: &[Suite]) -> Option<Suite> {
        suites.iter().copied().find(|suite| phase2_algorithms(suite) == Some(self.algorithms))
    }

    /// Its suite, whether or not it would be chosen.
    pub const fn to_suite(&self) -> Suite {
        let (encryption, integrity, group) = self.algorithms;
        Suite { encryption, integrity, prf: None, group, esn: false }
    }
}

// RFC 2407 §4.5: without the attribute the mode is the host's choice; all hosts choose tunnel mode.
const fn read_mode(number: Option<u16>) -> Option<(Mode, bool)> {
    let Some(number) = number else { return Some((Mode::Tunnel, false)) };
    match EncapsulationMode(number) {
        EncapsulationMode::TUNNEL => Some((Mode::Tunnel, false)),
        EncapsulationMode::TRANSPORT => Some((Mode::Transport, false)),
        EncapsulationMode::UDP_ENCAPSULATED_TUNNEL => Some((Mode::Tunnel, true)),
        EncapsulationMode::UDP_ENCAPSULATED_TRANSPORT => Some((Mode::Transport, true)),
        _ => None,
    }
}

const fn mode_number(mode: Mode, encapsulated: bool) -> EncapsulationMode {
    match (mode, encapsulated) {
        (Mode::Tunnel, false) => EncapsulationMode::TUNNEL,
        (Mode::Transport, false) => EncapsulationMode::TRANSPORT,
        (Mode::Tunnel, true) => EncapsulationMode::UDP_ENCAPSULATED_TUNNEL,
        (Mode::Transport, true) => EncapsulationMode::UDP_ENCAPSULATED_TRANSPORT,
    }
}

/// The suites that phase 2 may offer: those that IKEv1 has numbers for, all with the group of the first one, because there is
/// one KE payload for all of them.
pub fn offerable(config: &ChildConfig) -> Vec<Suite> {
    let mut named = config.suites.iter().copied().filter(can_negotiate_child).peekable();
    let group = named.peek().and_then(|suite| suite.group);
    named.filter(|suite| suite.group == group).collect()
}

/// The offer of phase 2.
pub fn propose_child(
    suites: &[Suite],
    spi: u32,
    (mode, encapsulated): (Mode, bool),
    lifetime: impl Into<Lifespan>,
) -> Proposal {
    let lifespan = lifetime.into();
    let transforms = (1..=u8::MAX).zip(suites).map(|(place, suite)| {
        let (id, key_length) = number::transform_number(suite.encryption).expect(NAMED);
        let attributes = phase2_attributes(suite, key_length, mode_number(mode, encapsulated), lifespan);
        Transform::new(place, id, &attributes)
    });
    Proposal { number: 1, protocol: ProtocolId::ESP, spi: Some(spi), transforms: transforms.collect() }
}

/// Suites without numbers in IKEv1 are filtered out before.
const NAMED: &str = "what is proposed has a number";

fn phase2_attributes(
    suite: &Suite,
    key_length: Option<u16>,
    mode: EncapsulationMode,
    lifespan: Lifespan,
) -> Vec<Attribute> {
    use Phase2Attribute as A;
    let attribute = |kind: A, value| Attribute::new(kind.0, value);
    let mut attributes = vec![attribute(A::ENCAPSULATION_MODE, mode.0.into())];
    attributes.extend(key_length.map(|bits| attribute(A::KEY_LENGTH, bits.into())));
    let integrity = suite.integrity.and_then(integrity_number);
    attributes.extend(integrity.map(|number| attribute(A::AUTHENTICATION_ALGORITHM, number.into())));
    attributes.extend(suite.group.map(|group| attribute(A::GROUP_DESCRIPTION, group.number().into())));
    attributes.extend(lifespan_attributes((A::SA_LIFE_TYPE.0, A::SA_LIFE_DURATION.0), lifespan));
    attributes
}

/// A proposal and one of its transforms.
pub(super) type Choice<'a> = (ProposalRef<'a>, TransformRef<'a>);

/// All choices that an SA payload offers for this protocol, best first.
// RFC 2408 §4.2: proposals with the same number belong together, which is not supported.
pub(super) fn choices<'a>(
    sa: &SecurityAssociation<'a>,
    protocol: ProtocolId,
) -> impl Iterator<Item = Choice<'a>> {
    let all = sa.proposals();
    let alone = move |proposal: &ProposalRef<'a>| {
        all.clone().filter(|other| other.number == proposal.number).count() == 1
    };
    let fitting = sa.proposals().filter(move |proposal| proposal.protocol == protocol && alone(proposal));
    fitting.flat_map(|proposal| proposal.transforms().map(move |transform| (proposal, transform)))
}

/// The single choice in an answer; `None` if there is none or more than one.
pub(super) fn answered<'a>(sa: &SecurityAssociation<'a>, protocol: ProtocolId) -> Option<Choice<'a>> {
    let mut all = choices(sa, protocol);
    let first = all.next()?;
    (all.next().is_none() && sa.proposals().count() == 1).then_some(first)
}

/// RFC 2409 §5: the answer contains the chosen transform as it was offered.
pub(super) fn answer((proposal, transform): &Choice<'_>, spi: Option<u32>) -> Proposal {
    let attributes = transform.attributes.as_bytes().to_vec();
    let transforms = vec![Transform { number: transform.number, id: transform.id, attributes }];
    Proposal { number: proposal.number, protocol: proposal.protocol, spi, transforms }
}

fn lifespan_attributes((life_type, life_duration): (u16, u16), lifespan: Lifespan) -> Vec<Attribute> {
    let seconds = Some((SECONDS, lifespan.time.as_secs()));
    let kilobytes = lifespan.kilobytes.map(|kilobytes| (KILOBYTES, kilobytes));
    let both = seconds.into_iter().chain(kilobytes);
    both.flat_map(|(unit, value)| [Attribute::new(life_type, unit), Attribute::new(life_duration, value)])
        .collect()
}

/// The data of RESPONDER-LIFETIME (RFC 2407 §4.6.3.1).
pub(super) fn lifetime_attributes(
    life_type: u16,
    life_duration: u16,
    lifetime: impl Into<Lifespan>,
) -> Vec<u8> {
    let mut w = Writer::with_capacity(24);
    Attributes::write_all(&lifespan_attributes((life_type, life_duration), lifetime.into()), &mut w);
    w.finish()
}

/// The lifetime of RESPONDER-LIFETIME in seconds.
pub(super) fn read_lifetime(data: &[u8], life_type: u16, life_duration: u16) -> Option<Duration> {
    read_lifetimes(data, life_type, life_duration).0
}

/// The lifetime of RESPONDER-LIFETIME in seconds, and in kilobytes.
pub(super) fn read_lifetimes(
    data: &[u8],
    life_type: u16,
    life_duration: u16,
) -> (Option<Duration>, Option<u64>) {
    let attributes = Attributes::read(&mut keytoll_net::wire::Reader::new(data)).ok();
    let values = attributes.and_then(|all| Values::read(all, [], (life_type, life_duration)));
    values.map_or((None, None), |values| (values.lifetime, values.kilobytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_net::wire::Reader;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn ike(text: &str) -> Suite {
        Suite::ike(text).unwrap()
    }

    fn esp(text: &str) -> Suite {
        Suite::esp(text).unwrap()
    }

    fn read(body: &[u8]) -> SecurityAssociation<'_> {
        SecurityAssociation::read(&mut Reader::new(body)).unwrap()
    }

    #[test]
    fn the_first_acceptable_transform_is_chosen_and_answered_as_it_was_offered() {
        let offered = [ike("aes256-sha512-modp4096"), ike("3des-md5-modp1024"), ike("aes128-sha1-modp768")];
        let body = sa_body(&propose(&offered, AuthenticationMethod::RSA_SIGNATURES, HOUR));
        let sa = read(&body);
        let all: Vec<_> = choices(&sa, ProtocolId::IKE).collect();
        assert_eq!(all.len(), 3);
        for (suite, choice) in offered.iter().zip(&all) {
            let transform = Phase1Transform::read(&choice.1).unwrap();
            assert_eq!(transform.suite(&offered), Some(*suite));
            assert_eq!(
                (transform.method, transform.lifetime),
                (AuthenticationMethod::RSA_SIGNATURES, Some(HOUR))
            );
            let body = sa_body(&answer(choice, None));
            let sa = read(&body);
            assert_eq!(answered(&sa, ProtocolId::IKE).map(|(_, transform)| transform), Some(choice.1));
        }
        assert_eq!(answered(&sa, ProtocolId::IKE), None, "three are no answer");
    }

    /// RFC 2408 §4.2: two proposals with the same number are a bundle.
    #[test]
    fn bundles_are_skipped() {
        let esp = [esp("aes128-sha256")];
        let body = sa_body(&propose_child(&esp, 7, (Mode::Tunnel, false), HOUR));
        let mut ah = body[8..].to_vec();
        ah[5] = 2;
        let mut bundle = body.clone();
        bundle[8] = 2;
        bundle.extend(&ah);
        assert_eq!(choices(&read(&bundle), ProtocolId::ESP).count(), 0);
        let number_of_second = body.len() + 4;
        bundle[number_of_second] = 2;
        assert_eq!(choices(&read(&bundle), ProtocolId::ESP).count(), 1, "an alternative is one");
    }

    #[test]
    fn attributes_in_either_form_mean_the_same() {
        let long = |kind: u8, value: u8| [0, kind, 0, 2, 0, value];
        let attributes = [long(1, 7), long(14, 128), long(2, 2), long(3, 1), long(4, 2)].concat();
        let transform = TransformRef {
            number: 1,
            id: KEY_IKE,
            attributes: Attributes::read(&mut Reader::new(&attributes)).unwrap(),
        };
        let suite = ike("aes128-sha1-modp1024");
        assert_eq!(Phase1Transform::read(&transform).unwrap().suite(&[suite]), Some(suite));
    }

    #[test]
    fn unknown_attributes_are_not_chosen() {
        let read = |attributes: &[Attribute]| {
            let transform = Transform::new(1, KEY_IKE, attributes);
            let attributes = Attributes::read(&mut Reader::new(&transform.attributes)).unwrap();
            Phase1Transform::read(&TransformRef { number: 1, id: KEY_IKE, attributes })
        };
        let good = phase1_attributes(
            (Encryption::Aes128Cbc, Prf::HmacSha1, Group::Modp1024),
            AuthenticationMethod::PRE_SHARED_KEY,
            HOUR,
        );
        assert!(read(&good).is_some());
        let with = |more: Attribute| read(&[&good[..], &[more]].concat());
        assert_eq!(with(Attribute::new(Phase1Attribute::PRF.0, 1)), None, "a PRF of its own");
        assert_eq!(with(Attribute::new(Phase1Attribute::HASH_ALGORITHM.0, 1)), None, "twice");
        assert_eq!(with(Attribute::new(Phase1Attribute::LIFE_DURATION.0, 1)), None, "without unit");
        assert_eq!(read(&good[1..]), None, "no cipher");
    }

    #[test]
    fn lifetimes_are_given_in_seconds() {
        let (life_type, duration) = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
        for lifetime in [HOUR, Duration::from_secs(100_000)] {
            let data = lifetime_attributes(life_type, duration, lifetime);
            assert_eq!(read_lifetime(&data, life_type, duration), Some(lifetime));
            assert_eq!(read_lifetime(&data[..data.len() - 1], life_type, duration), None);
        }
    }

    #[test]
    fn a_lifetime_of_zero_is_none() {
        let body = sa_body(&propose(
            &[ike("aes128-sha1-modp1024")],
            AuthenticationMethod::RSA_SIGNATURES,
            Duration::ZERO,
        ));
        let sa = read(&body);
        let transform = choices(&sa, ProtocolId::IKE).next().unwrap().1;
        let read = Phase1Transform::read(&transform).unwrap();
        assert_eq!((read.lifetime, read.method), (None, AuthenticationMethod::RSA_SIGNATURES));
        let (life_type, duration) = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
        let data = lifetime_attributes(life_type, duration, Duration::ZERO);
        assert_eq!(read_lifetime(&data, life_type, duration), None);
    }

    #[test]
    fn lifetimes_are_given_in_kilobytes_beside_seconds() {
        let (life_type, duration) = (Phase2Attribute::SA_LIFE_TYPE.0, Phase2Attribute::SA_LIFE_DURATION.0);
        for kilobytes in [1, 65_535, 65_536, 1 << 40] {
            let lifespan = Lifespan { time: HOUR, kilobytes: Some(kilobytes) };
            let data = lifetime_attributes(life_type, duration, lifespan);
            assert_eq!(read_lifetimes(&data, life_type, duration), (Some(HOUR), Some(kilobytes)));
            let body = sa_body(&propose_child(&[esp("aes128-sha256")], 7, (Mode::Tunnel, false), lifespan));
            let transform =
                Phase2Transform::read(&answered(&read(&body), ProtocolId::ESP).unwrap().1).unwrap();
            assert_eq!((transform.lifetime, transform.kilobytes), (Some(HOUR), Some(kilobytes)));
        }
        let endless = Lifespan { time: HOUR, kilobytes: Some(u64::MAX) };
        assert_eq!(endless.bytes_max(), Some(u64::MAX));
        assert_eq!(Lifespan::from(HOUR).within(None, Some(7)).within(None, None).kilobytes, Some(7));
    }

    #[test]
    fn one_public_value_serves_all_suites_of_an_offer() {
        let suites = ["aes128-sha256-modp2048", "aes128-sha256", "aes256-sha1-modp2048", "aes128-sha1-esn"];
        let config = ChildConfig {
            suites: suites.map(esp).to_vec(),
            mode: Mode::Tunnel,
            local: vec![],
            remote: vec![],
            rekey_after: None,
        };
        assert_eq!(offerable(&config), [esp(suites[0]), esp(suites[2])]);
        assert!(!can_negotiate_child(&esp("aes128-sha1-esn")));
        assert!(
            !can_negotiate_child(&esp("aes128-aescmac")) && !can_negotiate_child(&esp("chacha20poly1305"))
        );
        assert!(!can_negotiate(&ike("aes128gcm16-prfsha256-ecp256")));
    }

    #[test]
    fn gmac_has_a_number_of_its_own_in_ikev1() {
        // RFC 4543 §9: 23, which strongSwan 5.9.8 sends, too; IKEv2's 21 is another cipher here.
        let body = sa_body(&propose_child(&[esp("aes256gmac")], 7, (Mode::Tunnel, false), HOUR));
        let sa = read(&body);
        assert_eq!(answered(&sa, ProtocolId::ESP).unwrap().1.id, 23);
        assert_eq!(number::transform(21, Some(256)), None);
    }

    proptest! {
        #[test]
        fn what_is_offered_is_understood(
            encryption in proptest::sample::select(Encryption::ALL),
            integrity in proptest::sample::select(Integrity::ALL),
            group in proptest::option::of(proptest::sample::select(Group::ALL)),
            transport: bool,
            encapsulated: bool,
        ) {
            let integrity = (!encryption.is_aead()).then_some(integrity);
            let suite = Suite { encryption, integrity, prf: None, group, esn: false };
            prop_assume!(can_negotiate_child(&suite));
            let mode = if transport { Mode::Transport } else { Mode::Tunnel };
            let body = sa_body(&propose_child(&[suite], 7, (mode, encapsulated), HOUR));
            let sa = read(&body);
            let (proposal, transform) = answered(&sa, ProtocolId::ESP).unwrap();
            prop_assert_eq!(proposal.child_spi(), Some(7));
            let transform = Phase2Transform::read(&transform).unwrap();
            prop_assert_eq!(transform.suite(&[suite]), Some(suite));
            prop_assert_eq!((transform.mode, transform.encapsulated), (mode, encapsulated));
        }
    }
}

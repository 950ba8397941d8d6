//! An authenticator and a supplicant, with what one has sent the other.

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};

use super::super::*;
use crate::MacAddr;
use crate::frame::rsn::{RsnCapabilities, Rsne, Wpa};
use crate::suite::{Akm, Cipher};

pub(super) const AA: MacAddr = [2, 0, 0, 0, 0, 0xa];
pub(super) const SPA: MacAddr = [2, 0, 0, 0, 0, 1];

/// An RSNE with protected management frames.
pub(super) fn rsne(group: Cipher, pairwise: Cipher, akm: Akm) -> Vec<u8> {
    let capabilities = RsnCapabilities::PROTECTION_CAPABLE;
    Rsne { capabilities, ..Rsne::new(group, pairwise, akm) }.to_bytes()
}

/// The terms of an association whose two sides declare the same.
pub(super) fn terms(generation: Generation, akm: Akm, pairwise: Cipher) -> Terms {
    let group = if generation == Generation::Wpa { Cipher::Tkip } else { pairwise };
    let element = match generation {
        Generation::Rsn => rsne(group, pairwise, akm),
        Generation::Wpa => Wpa::new(group, pairwise, akm).to_bytes(),
    };
    let declared = Declared { element, rsnxe: None };
    Terms {
        generation,
        akm,
        pairwise,
        group,
        group_management: (generation == Generation::Rsn).then_some(Cipher::BipCmac128),
        aa: AA,
        spa: SPA,
        eapol_version: 2,
        access_point: declared.clone(),
        station: declared,
        extended_key_id: false,
    }
}

pub(super) fn wpa2() -> Terms {
    terms(Generation::Rsn, Akm::Psk, Cipher::Ccmp128)
}

pub(super) fn master(akm: Akm) -> Master {
    Master::Pmk { key: Secret::new(vec![0x42; akm.pmk_len()]), name: None }
}

/// Group keys made of this octet, at this index.
pub(super) fn group(terms: &Terms, octet: u8, index: u8) -> GroupKeys {
    let key = |cipher: Cipher, index| GroupKey {
        cipher,
        index,
        key: Secret::new(vec![octet; cipher.key_len()]),
        packet_number: 0x0102_0304_0506,
    };
    GroupKeys {
        gtk: key(terms.group, index),
        igtk: terms.group_management.map(|cipher| key(cipher, index + 3)),
    }
}

/// The clock and what it is lent to.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: Time,
    crypto: Real,
    rng: Rng,
}

impl World {
    pub(super) fn new() -> Self {
        Self { now: Time::ZERO, crypto: Real::default(), rng: Rng::named(1, "handshake") }
    }

    pub(super) fn with<R>(&mut self, act: impl FnOnce(&mut Rng, &mut Ctx<'_>) -> R) -> R {
        act(&mut self.rng, &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut NoTrace })
    }
}

/// Both sides.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ap: Authenticator,
    pub(super) station: Supplicant,
    pub(super) world: World,
}

/// The PDUs among outputs, and the rest.
pub(super) fn sorted(outputs: Vec<Output>) -> (Vec<Vec<u8>>, Vec<Output>) {
    let (mut sent, mut told) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            Output::Send(pdu) => sent.push(pdu),
            other => told.push(other),
        }
    }
    (sent, told)
}

/// The one PDU among outputs.
pub(super) fn only(outputs: Vec<Output>) -> Vec<u8> {
    let (mut sent, told) = sorted(outputs);
    assert_eq!((sent.len(), &told[..]), (1, &[][..]));
    sent.remove(0)
}

impl Pair {
    pub(super) fn new(terms: &Terms, master: &Master) -> Self {
        Self::of([terms, terms], [master, master])
    }

    /// Two sides that may have different terms: the authenticator's first.
    pub(super) fn of(terms: [&Terms; 2], masters: [&Master; 2]) -> Self {
        let group = group(terms[0], 0x17, 1);
        let timers = Retransmission::default();
        let [ap, station] = [0, 1].map(|side: usize| (terms[side].clone(), masters[side].clone()));
        Self {
            ap: Authenticator::new(ap.0, ap.1, group, timers),
            station: Supplicant::new(station.0, station.1, Time::ZERO),
            world: World::new(),
        }
    }

    /// Message 1.
    pub(super) fn begin(&mut self) -> Vec<u8> {
        only(self.world.with(|rng, cx| self.ap.begin(rng, cx)))
    }

    pub(super) fn ap_takes(&mut self, pdu: &[u8]) -> Result<Vec<Output>, Refused> {
        self.world.with(|rng, cx| self.ap.on_pdu(pdu, rng, cx))
    }

    pub(super) fn station_takes(&mut self, pdu: &[u8]) -> Result<Vec<Output>, Refused> {
        self.world.with(|rng, cx| self.station.on_pdu(pdu, rng, cx))
    }

    pub(super) fn change_group(&mut self, group: GroupKeys) -> Vec<Output> {
        self.world.with(|rng, cx| self.ap.change_group(group, rng, cx))
    }

    /// Message 3.
    pub(super) fn up_to_message_3(&mut self) -> Vec<u8> {
        let first = self.begin();
        let second = only(self.station_takes(&first).unwrap());
        only(self.ap_takes(&second).unwrap())
    }

    /// Delivers this PDU to the station and whatever follows from it; what both sides report, the authenticator's first.
    pub(super) fn run(&mut self, pdu: Vec<u8>) -> [Vec<Output>; 2] {
        let (mut to_station, mut told) = (vec![pdu], [Vec::new(), Vec::new()]);
        while let Some(pdu) = to_station.pop() {
            let (answers, station) = sorted(self.station_takes(&pdu).unwrap());
            told[1].extend(station);
            for answer in answers {
                let (more, ap) = sorted(self.ap_takes(&answer).unwrap());
                told[0].extend(ap);
                to_station.extend(more);
            }
        }
        told
    }

    /// A whole 4-way handshake.
    pub(super) fn agree(&mut self) -> [Vec<Output>; 2] {
        let first = self.begin();
        self.run(first)
    }
}

//! What an authenticator and a supplicant live through, spelled in bytes: terms, then steps, each with its operands. The fuzz
//! target `wlan_handshake` and the replay of its corpus call this.
//!
//! ```text
//!   0  the oldest frame on its way arrives          3  the rest, as a frame from nobody: length(1) octets(*), at both sides
//!   1  it arrives with an octet changed: at(1) xor(1), counted from the end of the fixed fields if `at` is odd
//!   2  it is lost                                    4  time passes up to the next deadline
//!   5  it arrives, and stays on its way              6  the group keys change     7  another 4-way handshake
//! ```

use std::collections::VecDeque;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Deadline, Time};
use keytoll_wlan::dot1x;
use keytoll_wlan::frame::rsn::{Rsne, Wpa};
use keytoll_wlan::handshake::{
    Authenticator, Declared, Generation, GroupKey, GroupKeys, Master, Output, Retransmission, Supplicant,
    Terms,
};
use keytoll_wlan::suite::{Akm, Cipher};

/// More steps than that show nothing new.
const STEPS_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Authenticator,
    Supplicant,
}

struct World {
    terms: Terms,
    now: Time,
    rng: Rng,
    ap: Authenticator,
    station: Supplicant,
    /// On their way to a side.
    frames: VecDeque<(Side, Vec<u8>)>,
    /// What each side has installed, in order.
    installed: [Vec<Secret>; 2],
    groups: u8,
}

fn terms(number: u8) -> Terms {
    let ciphers = [Cipher::Ccmp128, Cipher::Tkip, Cipher::Gcmp256];
    let akms = [Akm::Psk, Akm::Dot1xSha256, Akm::Sae, Akm::SuiteB192, Akm::Owe];
    let generation = if number & 0x80 == 0 { Generation::Rsn } else { Generation::Wpa };
    let (akm, pairwise) = match generation {
        Generation::Rsn => (akms[usize::from(number) % 5], ciphers[usize::from(number >> 3) % 3]),
        Generation::Wpa => (Akm::Psk, ciphers[usize::from(number) % 2]),
    };
    let element = match generation {
        Generation::Rsn => Rsne::new(pairwise, pairwise, akm).to_bytes(),
        Generation::Wpa => Wpa::new(pairwise, pairwise, akm).to_bytes(),
    };
    let declared = Declared { element, rsnxe: None };
    Terms {
        generation,
        akm,
        pairwise,
        group: pairwise,
        group_management: (number & 0xc0 == 0x40).then_some(Cipher::BipCmac128),
        aa: [2, 0, 0, 0, 0, 0xa],
        spa: [2, 0, 0, 0, 0, 1],
        eapol_version: 2,
        access_point: declared.clone(),
        station: declared,
        extended_key_id: number & 0x20 != 0,
    }
}

fn group(terms: &Terms, number: u8) -> GroupKeys {
    let key = |cipher: Cipher, index: u8| {
        let mut key = vec![number; cipher.key_len()];
        key[0] = index;
        GroupKey { cipher, index, key: Secret::new(key), packet_number: 0 }
    };
    let index = 1 + number % 2;
    GroupKeys {
        gtk: key(terms.group, index),
        igtk: terms.group_management.map(|cipher| key(cipher, index + 3)),
    }
}

impl World {
    fn new(number: u8) -> Self {
        let terms = terms(number);
        let master = Master::Pmk { key: Secret::new(vec![0x42; terms.akm.pmk_len()]), name: None };
        let group = group(&terms, 0);
        let ap = Authenticator::new(terms.clone(), master.clone(), group, Retransmission::default());
        Self {
            station: Supplicant::new(terms.clone(), master, Time::ZERO),
            terms,
            now: Time::ZERO,
            rng: Rng::named(1, "handshake"),
            ap,
            frames: VecDeque::new(),
            installed: [Vec::new(), Vec::new()],
            groups: 0,
        }
    }

    /// Lets one side act, and takes what comes of it.
    fn act(&mut self, side: Side, act: impl FnOnce(&mut Self, &mut Ctx<'_>) -> Vec<Output>) {
        let mut crypto = Real::default();
        let mut cx = Ctx { now: self.now, crypto: &mut crypto, trace: &mut NoTrace };
        let other = if side == Side::Supplicant { Side::Authenticator } else { Side::Supplicant };
        for output in act(self, &mut cx) {
            match output {
                Output::Send(pdu) => self.frames.push_back((other, pdu)),
                // A key that was in use is never installed again.
                Output::Install(key) => self.install(side, key.tk),
                Output::InstallGroup(key) => self.install(side, key.key),
                Output::Completed(_) | Output::Requested { .. } | Output::Failed(_) => {}
            }
        }
    }

    fn install(&mut self, side: Side, key: Secret) {
        let installed = &mut self.installed[usize::from(side == Side::Supplicant)];
        assert!(!installed.contains(&key), "a key is installed once");
        installed.push(key);
    }

    fn deliver(&mut self, side: Side, pdu: &[u8]) {
        self.act(side, |this, cx| match side {
            Side::Authenticator => this.ap.on_pdu(pdu, &mut this.rng, cx).unwrap_or_default(),
            Side::Supplicant => this.station.on_pdu(pdu, &mut this.rng, cx).unwrap_or_default(),
        });
    }

    fn pass_time(&mut self) {
        let Some(Deadline { at, .. }) = Deadline::earlier(self.ap.deadline(), self.station.deadline()) else {
            return;
        };
        self.now = self.now.max(at);
        self.act(Side::Authenticator, |this, cx| this.ap.tick(cx));
        self.act(Side::Supplicant, |this, cx| this.station.tick(cx));
    }

    fn change_group(&mut self) {
        self.groups = self.groups.wrapping_add(1) % 100;
        let group = group(&self.terms, self.groups);
        self.act(Side::Authenticator, |this, cx| this.ap.change_group(group, &mut this.rng, cx));
    }

    fn begin(&mut self) {
        self.act(Side::Authenticator, |this, cx| this.ap.begin(&mut this.rng, cx));
    }
}

/// Octets of the fixed fields of an EAPOL-Key frame before its MIC.
const FIXED_LEN: usize = 81;

fn changed(mut pdu: Vec<u8>, at: u8, xor: u8) -> Vec<u8> {
    let at = usize::from(at);
    let at = if at % 2 == 0 { at } else { FIXED_LEN + at };
    if let Some(octet) = pdu.get_mut(at) {
        *octet ^= xor;
    }
    pdu
}

/// Takes so many bytes of the input.
fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = input.split_first_chunk()?;
    *input = tail;
    Some(*head)
}

/// Lives through these bytes; how many keys both sides have installed.
pub(crate) fn run(mut input: &[u8]) -> [usize; 2] {
    let input = &mut input;
    let Some([number]) = take(input) else { return [0, 0] };
    strangers(input);
    let mut world = World::new(number);
    world.begin();
    for _ in 0..STEPS_MAX {
        let Some([step]) = take(input) else { break };
        if step_of(&mut world, step, input).is_none() {
            break;
        }
    }
    world.installed.map(|keys| keys.len())
}

fn step_of(world: &mut World, step: u8, input: &mut &[u8]) -> Option<()> {
    match step % 8 {
        3 => {
            let [len] = take(input)?;
            let (pdu, tail) = input.split_at(input.len().min(len.into()));
            *input = tail;
            world.deliver(Side::Authenticator, pdu);
            world.deliver(Side::Supplicant, pdu);
        }
        4 => world.pass_time(),
        6 => world.change_group(),
        7 => world.begin(),
        _ => {
            let (side, pdu) = world.frames.pop_front()?;
            match step % 8 {
                0 => world.deliver(side, &pdu),
                1 => {
                    let [at, xor] = take(input)?;
                    world.deliver(side, &changed(pdu, at, xor));
                }
                5 => {
                    world.deliver(side, &pdu);
                    world.frames.push_front((side, pdu));
                }
                _ => {}
            }
        }
    }
    Some(())
}

/// The same bytes at the ports of 802.1X.
fn strangers(pdu: &[u8]) {
    let mut crypto = Real::default();
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut NoTrace };
    let config = dot1x::AuthenticatorConfig::default();
    let mut port = dot1x::Authenticator::new(config, Rng::named(1, "port"));
    let mut device = dot1x::Supplicant::new(dot1x::SupplicantConfig::default());
    let keys = || dot1x::Eap::Success { packet: vec![3, 0, 0, 4], msk: Some(Secret::new(vec![7; 64])) };
    let _ = port.begin([2; 6], &mut cx);
    let _ = device.on_pdu(&[2, 0, 0, 5, 1, 1, 0, 5, 1], &mut cx);
    for _ in 0..2 {
        let _ = port.on_pdu([2; 6], pdu, &mut cx);
        let _ = device.on_pdu(pdu, &mut cx);
        let _ = port.on_eap([2; 6], keys(), &mut cx);
        device.on_eap(keys(), &mut cx);
    }
}

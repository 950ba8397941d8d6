//! Handshakes that others recorded, once more with our two sides: with the nonces and the PMK of the capture ours send the same
//! octets, install the same keys, and take what the others sent.
//!
//! The captures are test data of Wireshark's source and not part of this repository: `interop/fetch-captures.sh`.

use keytoll_crypto::Real;
use keytoll_crypto_api::Secret;
use keytoll_engine::Time;
use keytoll_net::wire::Reader;

use super::super::frame::Kind;
use super::super::*;
use super::pair::{World, only, sorted};
use crate::MacAddr;
use crate::captures::{captures, frames, pmks};
use crate::eapol::{DescriptorType, ETHER_TYPE, KeyData, Pdu, RsnKey};
use crate::frame::management::subtype;
use crate::frame::rsn::{Fte, Rsne, Wpa};
use crate::frame::{Element, ElementId, Elements, Frame, Header, llc};
use crate::keys::{PmkR0, R0Holder};
use crate::suite::{Akm, Cipher};

/// What a capture has of one handshake.
#[derive(Debug, Default)]
struct Recorded {
    ssid: Vec<u8>,
    beacon: Vec<Vec<u8>>,
    request: Vec<Vec<u8>>,
    response: Vec<Vec<u8>>,
    addresses: Option<(MacAddr, MacAddr)>,
    messages: Vec<Vec<u8>>,
}

/// The elements at the end of a frame, whose check sequence may follow.
fn elements(body: &[u8], at: usize) -> Vec<Vec<u8>> {
    let mut r = Reader::new(body.get(at..).unwrap_or_default());
    std::iter::from_fn(|| Element::read(&mut r).ok()).map(|element| element.to_bytes()).collect()
}

impl Recorded {
    fn of(frames: &[Vec<u8>]) -> Self {
        let mut this = Self::default();
        for bytes in frames {
            let Ok(frame) = Frame::read(bytes) else { continue };
            this.take(&frame);
        }
        if this.request.is_empty() {
            let second = RsnKey::read_of_any_akm(&this.messages[1]).unwrap().0;
            this.request = elements(second.key_data, 0);
        }
        this
    }

    /// Learns from message 3 what the beacon said, where the capture begins later.
    fn learn_beacon(&mut self, pmk: &Secret) {
        let terms = self.terms(0);
        let nonces = (nonce(&self.messages[0]), nonce(&self.messages[1]));
        let mut crypto = Real::default();
        let ptk = terms.ptk(&self.master(pmk, &terms), nonces, &mut crypto);
        let (third, _) = terms.read(&self.messages[2]).unwrap();
        if let Ok(key_data) = terms.open(&third, &ptk, &mut crypto) {
            self.beacon = elements(&key_data, 0);
        }
    }

    fn take(&mut self, frame: &Frame<'_>) {
        // After the handshake another station may come, or the same once more.
        if self.messages.len() == 4 {
            return;
        }
        match &frame.header {
            Header::Management(header) => match header.subtype {
                subtype::BEACON | subtype::PROBE_RESPONSE => self.beacon = elements(frame.body, 12),
                subtype::ASSOCIATION_REQUEST => self.request = elements(frame.body, 4),
                subtype::REASSOCIATION_REQUEST => self.request = elements(frame.body, 10),
                subtype::ASSOCIATION_RESPONSE => self.response = elements(frame.body, 6),
                _ => {}
            },
            Header::Data(_) => self.take_data(frame.body, &frame.header.to_bytes()),
            Header::Control(_) => {}
        }
    }

    fn take_data(&mut self, body: &[u8], header: &[u8]) {
        let mut r = Reader::new(body);
        if llc::read(&mut r) != Ok(ETHER_TYPE) {
            return;
        }
        let rest = r.rest();
        let Ok(pdu) = Pdu::read(rest) else { return };
        let bytes = &rest[..pdu.len()];
        let Ok((frame, _)) = RsnKey::read_of_any_akm(bytes) else { return };
        let place = match Kind::of(frame.information) {
            Some(Kind::Message1) => 0,
            Some(Kind::Answer) => {
                if frame.nonce == [0; 32] {
                    3
                } else {
                    1
                }
            }
            Some(Kind::Message3) => 2,
            _ => return,
        };
        if place == 0 {
            let address = |at: usize| header[at..at + 6].try_into().unwrap();
            self.addresses = Some((address(10), address(4)));
        }
        // The first transmission of each.
        if self.messages.len() == place {
            self.messages.push(bytes.to_vec());
        }
    }

    fn terms(&self, message: usize) -> Terms {
        let generation = match self.messages[0][4] {
            number if number == DescriptorType::WPA.0 => Generation::Wpa,
            _ => Generation::Rsn,
        };
        let declared = |elements: &[Vec<u8>]| Declared::of(&read(elements), generation);
        let (access_point, station) = (declared(&self.beacon), declared(&self.request));
        let (pairwise, group, akm, group_management) = match generation {
            Generation::Rsn => {
                let rsne = Rsne::read(&station.element[2..]).unwrap();
                let (pairwise, akm) = (rsne.ciphers().next(), rsne.known_akms().next());
                // Management frames are protected if both sides can.
                let can = |declared: &Declared| {
                    let rsne = Rsne::read(declared.element.get(2..).unwrap_or_default()).ok();
                    rsne.is_some_and(|rsne| rsne.group_management_cipher().is_some())
                };
                let management = rsne.group_management_cipher().filter(|_| can(&access_point));
                (pairwise, rsne.group.cipher(), akm, management)
            }
            Generation::Wpa => {
                let wpa = Wpa::read(&station.element[2..]).unwrap();
                (wpa.pairwise[0].cipher(), wpa.group.cipher(), wpa.akms[0].akm(), None)
            }
        };
        let (aa, spa) = self.addresses.unwrap();
        Terms {
            generation,
            akm: akm.unwrap(),
            pairwise: pairwise.unwrap(),
            group: group.unwrap(),
            group_management,
            aa,
            spa,
            eapol_version: self.messages[message][0],
            access_point,
            station,
            extended_key_id: false,
        }
    }

    /// With this PMK or XXKey.
    fn master(&self, pmk: &Secret, terms: &Terms) -> Master {
        if !terms.akm.has_fast_transition() {
            let first = RsnKey::read_of_any_akm(&self.messages[0]).unwrap().0;
            let name = KeyData::read(first.key_data).unwrap().pmkid();
            return Master::Pmk { key: pmk.clone(), name };
        }
        let response = read(&self.response);
        let whole = |id| response.0.iter().find(|element| element.id == id).unwrap().to_bytes();
        let [mde, fte] = [ElementId::MOBILITY_DOMAIN, ElementId::FAST_TRANSITION].map(whole);
        let read = Fte::read(&fte[2..], terms.akm.mic_len()).unwrap();
        let holder = R0Holder { ssid: &self.ssid, mdid: [mde[2], mde[3]], r0kh_id: read.r0kh_id.unwrap() };
        let pmk_r0 = PmkR0::new(terms.akm, pmk, &holder, terms.spa, &mut Real::default());
        let pmk_r1 = pmk_r0.r1(terms.akm, read.r1kh_id.unwrap(), terms.spa, &mut Real::default());
        Master::Transition(Transition { pmk_r1, mde, fte })
    }
}

fn read(elements: &[Vec<u8>]) -> Elements<'_> {
    let element = |bytes: &Vec<u8>| Element::read(&mut Reader::new(bytes)).unwrap().id;
    Elements(elements.iter().map(|bytes| Element { id: element(bytes), body: &bytes[2..] }).collect())
}

fn nonce(message: &[u8]) -> crate::keys::Nonce {
    message[17..49].try_into().unwrap()
}

/// The keys that our supplicant installs when it is told messages 1 and 3, and messages 2 and 4 as it sends them; none with a wrong
/// PMK.
fn supplicant(recorded: &Recorded, pmk: &Secret) -> Option<([Vec<u8>; 2], Vec<Output>)> {
    let mut world = World::new();
    let terms = recorded.terms(1);
    let station = Supplicant::new(terms.clone(), recorded.master(pmk, &terms), Time::ZERO);
    let mut station = station.with_snonce(nonce(&recorded.messages[1]));
    let mut take =
        |message: usize| world.with(|rng, cx| station.on_pdu(&recorded.messages[message], rng, cx));
    let second = only(take(0).unwrap());
    let third = take(2);
    if third == Err(Refused::Mic) {
        return None;
    }
    let (fourth, told) = sorted(third.unwrap());
    Some(([second, fourth[0].clone()], told))
}

/// The same with our authenticator.
fn authenticator(recorded: &Recorded, pmk: &Secret, group: GroupKeys) -> ([Vec<u8>; 2], Vec<Output>) {
    let mut world = World::new();
    let terms = recorded.terms(0);
    let master = recorded.master(pmk, &terms);
    let mut ap = Authenticator::new(terms, master, group, Retransmission::default());
    ap.count_from(recorded.messages[0][16].into());
    let first = only(ap.begin_with(nonce(&recorded.messages[0]), world.now));
    let third = only(world.with(|rng, cx| ap.on_pdu(&recorded.messages[1], rng, cx)).unwrap());
    let told = world.with(|rng, cx| ap.on_pdu(&recorded.messages[3], rng, cx)).unwrap();
    ([first, third], told)
}

/// No group keys, where message 3 brings none.
fn group_of(told: &[Output], terms: &Terms) -> GroupKeys {
    let keys: Vec<_> = told
        .iter()
        .filter_map(|output| match output {
            Output::InstallGroup(key) => Some(key.clone()),
            _ => None,
        })
        .collect();
    let none =
        || GroupKey { cipher: terms.group, index: 1, key: vec![0; 32].as_slice().into(), packet_number: 0 };
    GroupKeys { gtk: keys.first().cloned().unwrap_or_else(none), igtk: keys.get(1).cloned() }
}

fn installed(told: &[Output]) -> Option<&PairwiseKey> {
    told.iter().find_map(|output| match output {
        Output::Install(key) => Some(key),
        _ => None,
    })
}

/// Of these messages, counted from 1, ours have the same octets.
fn check(name: &str, akm: Akm, pairwise: Cipher, same: &[usize]) {
    let Some(directory) = captures() else { return };
    let bytes = std::fs::read(directory.join("captures").join(name)).unwrap();
    let table = std::fs::read_to_string(directory.join("config/80211_keys.tmpl")).unwrap();
    let mut recorded = Recorded::of(&frames(&bytes));
    recorded.ssid = read(&recorded.request).find(ElementId::SSID).unwrap_or_default().to_vec();
    let terms = recorded.terms(0);
    assert_eq!((terms.akm, terms.pairwise), (akm, pairwise), "{name}");
    let begins_late = recorded.beacon.is_empty();
    let keys = pmks(&table, &recorded.ssid);
    let found = keys.iter().filter(|key| key.len() == akm.pmk_len()).find_map(|pmk| {
        if begins_late {
            recorded.learn_beacon(pmk);
        }
        supplicant(&recorded, pmk).map(|(sent, told)| (pmk, sent, told))
    });
    let (pmk, [second, fourth], told) = found.unwrap_or_else(|| panic!("{name}: no key of the table"));
    let ([first, third], ap_told) = authenticator(&recorded, pmk, group_of(&told, &terms));
    assert!(installed(&told).is_some() && installed(&told) == installed(&ap_told), "{name}: {told:?}");
    let sent = [first, second, third, fourth];
    let is_same = |number: &usize| sent[number - 1] == recorded.messages[number - 1];
    assert_eq!(
        (1..=4).filter(is_same).collect::<Vec<_>>(),
        same,
        "{name}: {sent:x?} {:x?}",
        recorded.messages
    );
}

/// The station repeats the key length in its answers, and the access point has a random IV where AES needs none.
#[test]
fn wpa2_psk_of_two_vendors() {
    check("wpa-Induction.pcap", Akm::Psk, Cipher::Ccmp128, &[1]);
}

#[test]
fn wpa1_psk_with_tkip() {
    check("wpa1-gtk-rekey.pcapng", Akm::Psk, Cipher::Tkip, &[1, 2, 3, 4]);
}

#[test]
fn wpa2_psk_with_protected_management_frames() {
    check("wpa2-psk-mfp.pcapng", Akm::PskSha256, Cipher::Ccmp128, &[1, 2, 3, 4]);
}

#[test]
fn wpa2_enterprise_with_eap_tls() {
    check("wpa-eap-tls.pcap", Akm::Dot1x, Cipher::Ccmp128, &[1, 2, 3, 4]);
}

#[test]
fn wpa3_sae() {
    check("wpa3-sae.pcapng", Akm::Sae, Cipher::Ccmp128, &[1, 2, 3, 4]);
}

/// Behind the empty key data of message 1 hostapd of that time left room.
#[test]
fn wpa3_enterprise_of_192_bits() {
    check("wpa3-suiteb-192.pcapng", Akm::SuiteB192, Cipher::Gcmp256, &[2, 3, 4]);
}

#[test]
fn ccmp_256_and_gcmp() {
    check("wpa-ccmp-256.pcapng", Akm::Psk, Cipher::Ccmp256, &[1, 2, 3, 4]);
    check("wpa-gcmp.pcapng", Akm::Psk, Cipher::Gcmp128, &[1, 2, 3, 4]);
    check("wpa-gcmp-256.pcapng", Akm::Psk, Cipher::Gcmp256, &[1, 2, 3, 4]);
}

#[test]
fn owe() {
    check("owe.pcapng", Akm::Owe, Cipher::Ccmp128, &[1, 2, 3, 4]);
}

/// hostapd does not name the PMK-R1 in message 1, and has more in message 3: lifetimes.
#[test]
fn fast_transition() {
    check("wpa2-ft-psk.pcapng", Akm::FtPsk, Cipher::Ccmp128, &[2, 4]);
}

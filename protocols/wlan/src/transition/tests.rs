//! Both sides with each other, what is refused, and the transitions that others recorded.

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};
use keytoll_net::wire::Reader;

use super::elements::Holders;
use super::station::{Membership, ptk};
use super::*;
use crate::captures::{captures, frames, pmks};
use crate::eapol::pdu::VERSION_2004;
use crate::frame::management::subtype;
use crate::frame::rsn::Rsne;
use crate::frame::{AuthenticationAlgorithm, ElementId, Elements, Frame, Header, Management};
use crate::handshake::{Declared, Generation, GroupKeys};
use crate::keys::{PmkR0, PmkR1, R0Holder};
use crate::suite::Cipher;

const TARGET: MacAddr = [2, 0, 0, 0, 0, 0xb];
const STATION: MacAddr = [2, 0, 0, 0, 0, 1];
const AKMS: [Akm; 4] = [Akm::FtPsk, Akm::FtDot1x, Akm::FtSae, Akm::FtDot1xSha384];

fn terms(akm: Akm) -> Terms {
    let cipher = Cipher::Ccmp128;
    let declared = Declared { element: Rsne::new(cipher, cipher, akm).to_bytes(), rsnxe: None };
    Terms {
        generation: Generation::Rsn,
        akm,
        pairwise: cipher,
        group: cipher,
        group_management: Some(Cipher::BipCmac128),
        aa: TARGET,
        spa: STATION,
        eapol_version: VERSION_2004,
        access_point: declared.clone(),
        station: declared,
        extended_key_id: false,
    }
}

fn domain() -> Domain {
    let mde = Mde { mdid: [1, 2], over_ds: false, resource_request: false };
    Domain { mde, r0kh_id: b"first.lab".to_vec() }
}

fn group() -> GroupKeys {
    let key = |cipher: Cipher, index| GroupKey {
        cipher,
        index,
        key: Secret::new(vec![index; cipher.key_len()]),
        packet_number: 0x0102_0304_0506,
    };
    GroupKeys { gtk: key(Cipher::Ccmp128, 1), igtk: Some(key(Cipher::BipCmac128, 4)) }
}

fn with<T>(run: impl FnOnce(&mut Ctx<'_>) -> T) -> T {
    run(&mut Ctx { now: Time::ZERO, crypto: &mut Real::default(), trace: &mut NoTrace })
}

fn read(bytes: &[u8]) -> Elements<'_> {
    Elements::read(&mut Reader::new(bytes)).unwrap()
}

fn keys(akm: Akm, octet: u8) -> (PmkR0, PmkR1) {
    with(|cx| {
        let holder = R0Holder { ssid: b"lab", mdid: [1, 2], r0kh_id: b"first.lab" };
        let r0 = PmkR0::new(akm, &[octet; 48][..akm.pmk_len()], &holder, STATION, cx.crypto);
        let r1 = r0.r1(akm, TARGET, STATION, cx.crypto);
        (r0, r1)
    })
}

/// The four messages, which `spoil` may change, with the PMK-R1 of another key.
fn run(akm: Akm, octet: u8, spoil: &dyn Fn(usize, &mut Vec<u8>)) -> Result<[Agreed; 2], (usize, Failure)> {
    let (mut rng, spoiled) = (Rng::named(1, "transition"), |number, mut elements: Vec<u8>| {
        spoil(number, &mut elements);
        elements
    });
    let membership = Membership { mde: domain().mde, r0kh_id: b"first.lab".to_vec(), pmk_r0: keys(akm, 1).0 };
    let (station, first) = station::begin(membership, terms(akm), &mut rng).unwrap();
    let first = spoiled(1, first);
    let asked = access_point::Asked::read(&read(&first), &domain(), akm, [TARGET, STATION])
        .map_err(|why| (1, why))?;
    assert_eq!(asked.pull.r0kh_id, b"first.lab");
    let answer = with(|cx| asked.answer(&domain(), terms(akm), keys(akm, octet).1, &mut rng, cx));
    let (target, second) = answer.unwrap();
    let second = spoiled(2, second);
    let (station, third) = with(|cx| station.on_answer(&read(&second), cx)).map_err(|why| (2, why))?;
    let third = spoiled(3, third);
    let (at_target, fourth) =
        with(|cx| target.on_request(&read(&third), &group(), cx)).map_err(|why| (3, why))?;
    let fourth = spoiled(4, fourth);
    let at_station = with(|cx| station.on_response(&read(&fourth), cx)).map_err(|why| (4, why))?;
    Ok([at_target, at_station])
}

#[test]
fn both_sides_agree() {
    for akm in AKMS {
        let [target, station] = run(akm, 1, &|_, _| ()).unwrap();
        assert_eq!((target.ptk, target.anonce), (station.ptk, station.anonce), "{akm:?}");
        assert_eq!((target.transition, target.terms), (station.transition, station.terms));
        let GroupKeys { gtk, igtk } = group();
        assert_eq!(station.groups, [gtk].into_iter().chain(igtk).collect::<Vec<_>>());
    }
}

#[test]
fn another_key_is_refused_and_status_says_what_was_wrong() {
    // The name in the third message is that of the station's PMK-R1.
    let failed = |octet, spoil: &dyn Fn(usize, &mut Vec<u8>)| run(Akm::FtPsk, octet, spoil).unwrap_err();
    assert_eq!(failed(2, &|_, _| ()), (3, Failure::Pmkid));
    for (number, at, expected) in [(1, 36, 2), (1, 44, 1), (2, 36, 2), (2, 44, 2)] {
        let (failed_at, why) = failed(1, &|message, elements| elements[at] ^= u8::from(message == number));
        assert_eq!((failed_at, number, at), (expected, number, at), "{why}");
    }
    // Every octet of the messages with a MIC counts, ids and lengths of elements apart.
    for number in [3, 4] {
        let len = std::cell::Cell::new(0);
        run(Akm::FtPsk, 1, &|message, elements| {
            len.set(if message == number { elements.len() } else { len.get() });
        })
        .unwrap();
        assert!(len.get() > 140);
        for at in 0..len.get() {
            let spoil = |message, elements: &mut Vec<u8>| {
                if message == number && !is_frame_of_elements(elements, at) {
                    elements[at] ^= 1;
                } else if message == number {
                    elements.clear();
                }
            };
            assert_eq!(failed(1, &spoil).0, number, "octet {at}");
        }
    }
    assert_eq!([Failure::Mde, Failure::Mic, Failure::Pmkid].map(|why| why.status().0), [54, 55, 53]);
}

/// Whether an octet is an id or a length, of an element or of a subelement in the FTE.
fn is_frame_of_elements(elements: &[u8], at: usize) -> bool {
    let mut begins = 0;
    while begins + 1 < elements.len() {
        let len = usize::from(elements[begins + 1]);
        if at < begins + 2 + len {
            return at < begins + 2 || elements[begins] == ElementId::FAST_TRANSITION.0 && at >= begins + 84;
        }
        begins += 2 + len;
    }
    false
}

/// What a capture has of a fast transition.
#[derive(Default)]
struct Recorded {
    beacons: Vec<(MacAddr, Vec<u8>)>,
    addresses: Option<(MacAddr, MacAddr)>,
    messages: Vec<Vec<u8>>,
    ssid: Vec<u8>,
}

impl Recorded {
    fn take(&mut self, bytes: &[u8]) {
        let Ok(Frame { header: Header::Management(header), body }) = Frame::read(bytes) else { return };
        // What is left of a frame may have a check sequence behind it.
        let elements = |at: usize| {
            let mut r = Reader::new(&body[at..]);
            let whole = std::iter::from_fn(|| crate::frame::Element::read(&mut r).ok());
            whole.flat_map(|element| element.to_bytes()).collect::<Vec<u8>>()
        };
        match (header.subtype, self.messages.len()) {
            (subtype::BEACON | subtype::PROBE_RESPONSE, _) => {
                self.beacons.push((header.source, elements(12)));
            }
            (subtype::AUTHENTICATION, number @ (0 | 1)) => {
                let Ok(Management::Authentication(frame)) = Management::read(header.subtype, body) else {
                    return;
                };
                let is_next = usize::from(frame.sequence) == number + 1;
                if frame.algorithm == AuthenticationAlgorithm::FAST_BSS_TRANSITION && is_next {
                    self.messages.push(elements(6));
                    self.addresses =
                        Some((header.bssid, if number == 0 { header.source } else { header.destination }));
                }
            }
            (subtype::REASSOCIATION_REQUEST, 2) => {
                self.messages.push(elements(10));
                self.ssid = read(&self.messages[2]).find(ElementId::SSID).unwrap_or_default().to_vec();
            }
            (subtype::REASSOCIATION_RESPONSE, 3) => self.messages.push(elements(6)),
            _ => {}
        }
    }
}

/// With the nonces and the passphrase of the capture, the MICs of both sides are right, and the group key is unwrapped.
#[test]
fn a_recorded_transition_is_taken_by_both_of_our_sides() {
    let Some(directory) = captures() else { return };
    let bytes = std::fs::read(directory.join("captures/wpa2-ft-psk.pcapng")).unwrap();
    let table = std::fs::read_to_string(directory.join("config/80211_keys.tmpl")).unwrap();
    let mut recorded = Recorded::default();
    frames(&bytes).iter().for_each(|frame| recorded.take(frame));
    let (aa, spa) = recorded.addresses.unwrap();
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|number| read(&recorded.messages[number]));
    let mde = Mde::read(first.find(ElementId::MOBILITY_DOMAIN).unwrap()).unwrap();
    let of_first = Fte::read(first.find(ElementId::FAST_TRANSITION).unwrap(), 16).unwrap();
    let of_second = Fte::read(second.find(ElementId::FAST_TRANSITION).unwrap(), 16).unwrap();
    let domain = Domain { mde, r0kh_id: of_first.r0kh_id.unwrap().to_vec() };
    let declared = |elements: &Elements<'_>| Declared::of(elements, Generation::Rsn);
    let beacon = recorded.beacons.iter().find(|(bssid, _)| *bssid == aa);
    let terms = Terms {
        akm: Akm::FtPsk,
        group_management: None,
        aa,
        spa,
        access_point: declared(&beacon.map_or(second.clone(), |(_, elements)| read(elements))),
        station: declared(&first),
        ..terms(Akm::FtPsk)
    };
    let asked = access_point::Asked::read(&first, &domain, terms.akm, [aa, spa]).unwrap();
    let holder = R0Holder { ssid: &recorded.ssid, mdid: domain.mde.mdid, r0kh_id: &domain.r0kh_id };
    let pmk_r0 = pmks(&table, &recorded.ssid).into_iter().find_map(|psk| {
        let r0 = PmkR0::new(terms.akm, &psk, &holder, spa, &mut Real::default());
        (r0.name == asked.pull.pmk_r0_name).then_some(r0)
    });
    let pmk_r0 = pmk_r0.expect("the table has the passphrase");
    let (anonce, snonce) = (of_second.anonce, of_first.snonce);
    let (r1kh_id, r0kh_id) = (of_second.r1kh_id.unwrap(), domain.r0kh_id.clone());
    let holders = Holders { anonce, snonce, r1kh_id, r0kh_id };
    let pmk_r1 = pmk_r0.r1(terms.akm, r1kh_id, spa, &mut Real::default());
    let ptk = ptk(&terms, &pmk_r1, &holders, &mut Real::default());

    let target = access_point::AwaitingReassociation::recorded((&domain, &terms), &holders, &pmk_r1, &ptk);
    let (agreed, _) = with(|cx| target.on_request(&third, &group(), cx)).unwrap();
    let station = station::AwaitingReassociation::recorded((domain.mde, &terms), &holders, &pmk_r1, &ptk);
    let at_station = with(|cx| station.on_response(&fourth, cx)).unwrap();
    assert_eq!((agreed.ptk, at_station.groups.len()), (at_station.ptk, 1));
}

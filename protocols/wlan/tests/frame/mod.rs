//! Any bytes as frames of a wireless LAN that somebody overhears who has a few keys: length(2) octets(*) each. The fuzz target
//! `wlan_frame` and the replay of its corpus call this.

use std::collections::BTreeMap;

use keytoll_crypto::Real;
use keytoll_engine::{Addr, Datagram};
use keytoll_family::{Aired, Analyser, Book, Families, Family, LinkSeal, Passed, Tables};
use keytoll_net::wire::Reader;
use keytoll_wlan::eapol::ETHER_TYPE;
use keytoll_wlan::family::WlanFamily;
use keytoll_wlan::frame::rsn::{Fte, Mde, Rsne, Rsnxe, Wpa};
use keytoll_wlan::frame::{ElementId, Elements, Frame, Header, Management};
use keytoll_wlan::names::EAPOL;

const FAMILIES: Families = &[&WlanFamily];

/// The keys: of WEP, a PSK, an MSK and a temporal key.
fn tables() -> Tables {
    let table = format!(
        "\"wep\",\"{}\"\n\"wpa-psk\",\"{}\"\n\"msk\",\"{}\"\n\"tk\",\"{}\"\n",
        "01".repeat(5),
        "02".repeat(32),
        "03".repeat(64),
        "04".repeat(16)
    );
    Tables::new(BTreeMap::from([("80211_keys".to_owned(), table)]))
}

/// Overhears frames; returns how many were decrypted.
pub(crate) fn run(bytes: &[u8]) -> u64 {
    let (mut tables, mut crypto) = (tables(), Real::default());
    let mut air = WlanFamily.on_air(&mut tables).expect("this family is on the air");
    let mut analyser = WlanFamily.analyser(&mut tables).expect("this family has packets");
    let mut book = Book::new(FAMILIES);
    for (number, frame) in (1..).zip(frames(bytes)) {
        read(frame);
        for aired in air.take(frame, &mut crypto).unwrap_or_default() {
            if let Some(passed) = passed(aired, number) {
                file(&passed, &mut *analyser, &mut book, &mut crypto);
            }
        }
    }
    book.open_for(0);
    let conversations = book.finish(|_, number, conversation| analyser.judge(number, conversation));
    let sealed = conversations.iter().filter_map(|conversation| conversation.judgement.sealed.as_ref());
    assert!(sealed.map(|sealed| sealed.opened).sum::<u64>() <= air.opened());
    air.opened()
}

/// The frames; what is left over is one, too.
fn frames(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (frame, rest) = rest.split_at(length);
        frames.push(frame);
        bytes = rest;
    }
    frames.push(bytes);
    frames
}

/// What can be read can be written, and is then the same.
fn read(bytes: &[u8]) {
    let Ok(frame) = Frame::read(bytes) else { return };
    assert_eq!(frame.to_bytes(), bytes);
    let Header::Management(header) = frame.header else { return };
    let Ok(management) = Management::read(header.subtype, frame.body) else { return };
    let written = management.to_bytes();
    assert_eq!(Management::read(header.subtype, &written).as_ref(), Ok(&management));
    let elements = match &management {
        Management::AssociationRequest(request) => &request.elements,
        Management::AssociationResponse(response) => &response.elements,
        Management::Beacon(beacon) => &beacon.elements,
        Management::ProbeRequest(elements) => elements,
        Management::Authentication(authentication) => {
            return Elements::read(&mut Reader::new(authentication.rest)).iter().for_each(read_elements);
        }
        _ => return,
    };
    read_elements(elements);
}

fn read_elements(elements: &Elements<'_>) {
    for element in &elements.0 {
        let body = element.body;
        match element.id {
            ElementId::RSN => drop(Rsne::read(body)),
            ElementId::VENDOR => drop(Wpa::read(body)),
            ElementId::MOBILITY_DOMAIN => drop(Mde::read(body)),
            ElementId::RSNX => drop(Rsnxe::read(body)),
            ElementId::FAST_TRANSITION => [16, 24].iter().for_each(|mic_len| drop(Fte::read(body, *mic_len))),
            _ => {}
        }
    }
}

/// What the analyser is told: messages, and EAPOL PDUs.
fn passed(aired: Aired, frame: u64) -> Option<Passed> {
    let (protocol, from, to, bytes, seal): (_, _, _, _, LinkSeal) = match aired {
        Aired::Message { protocol, from, to, bytes, seal } => (protocol, from, to, bytes, seal),
        Aired::Pdu { ether_type: ETHER_TYPE, from, to, pdu, seal } => (EAPOL, from, to, pdu, seal),
        Aired::Pdu { .. } => return None,
    };
    let (from, to, at_ns) = (Addr::Mac(from), Addr::Mac(to), 1_000_000 * frame);
    Some(Passed {
        first_ns: at_ns,
        at_ns,
        frame,
        packets: 1,
        wire_bytes: bytes.len() as u32,
        datagram: Datagram { protocol, from, to, bytes },
        is_receiver_known: true,
        cut: None,
        seal,
        fate: None,
    })
}

fn file(passed: &Passed, analyser: &mut dyn Analyser, book: &mut Book, crypto: &mut Real) {
    book.open_for(0);
    let dissected = analyser.dissect(passed, crypto);
    analyser.file(passed, dissected, None, book, crypto);
}

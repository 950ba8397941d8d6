//! The handshake of the first association in a mobility domain: RSNE, MDE and FTE name the keys of fast transition.

use super::super::*;
use super::pair::*;
use crate::frame::rsn::{Fte, Mde};
use crate::keys::{PmkR0, R0Holder};
use crate::suite::{Akm, Cipher};

fn transition(akm: Akm, anonce: u8) -> Transition {
    let mut world = World::new();
    world.with(|_, cx| {
        let holder = R0Holder { ssid: b"lab", mdid: [1, 2], r0kh_id: b"ap.lab" };
        let pmk_r1 = PmkR0::new(akm, &[0x42; 48][..akm.pmk_len()], &holder, SPA, cx.crypto)
            .r1(akm, AA, SPA, cx.crypto);
        let mde = Mde { mdid: [1, 2], over_ds: false, resource_request: false }.to_bytes();
        let fte = Fte {
            rsnxe_used: false,
            element_count: 0,
            mic: &[0; 24][..akm.mic_len()],
            anonce: [anonce; 32],
            snonce: [0; 32],
            r1kh_id: Some(AA),
            r0kh_id: Some(b"ap.lab"),
            gtk: None,
            igtk: None,
        };
        Transition { pmk_r1, mde, fte: fte.to_bytes() }
    })
}

const AKMS: [Akm; 4] = [Akm::FtPsk, Akm::FtDot1x, Akm::FtSae, Akm::FtDot1xSha384];

#[test]
fn both_sides_agree_under_the_pmk_r1() {
    for akm in AKMS {
        let terms = terms(Generation::Rsn, akm, Cipher::Ccmp128);
        let mut pair = Pair::new(&terms, &Master::Transition(transition(akm, 0)));
        let [ap, station] = pair.agree();
        assert_eq!(ap[0], station[0]);
        assert_eq!((ap.len(), station.len()), (2, 4));
    }
}

#[test]
fn another_element_of_fast_transition_is_named() {
    let ours = transition(Akm::FtPsk, 0);
    let fte = Transition { fte: transition(Akm::FtPsk, 1).fte, ..ours.clone() };
    let mut mde = ours.clone();
    mde.mde[2] ^= 1;
    let mut name = ours.clone();
    name.pmk_r1.name[0] ^= 1;
    let terms = terms(Generation::Rsn, Akm::FtPsk, Cipher::Ccmp128);
    for (theirs, reason) in [(fte, Reason::AnotherFte), (mde, Reason::AnotherMde)] {
        let masters = [&Master::Transition(ours.clone()), &Master::Transition(theirs)];
        let mut pair = Pair::of([&terms, &terms], masters);
        let first = pair.begin();
        let second = only(pair.station_takes(&first).unwrap());
        assert_eq!(pair.ap_takes(&second), Ok(vec![Output::Failed(reason)]));
    }
    let masters = [&Master::Transition(ours), &Master::Transition(name)];
    let mut pair = Pair::of([&terms, &terms], masters);
    let first = pair.begin();
    assert_eq!(pair.station_takes(&first), Err(Refused::Pmkid));
    let reasons = [Reason::AnotherPmkR1, Reason::AnotherMde, Reason::AnotherFte, Reason::ElementsDiffer];
    assert_eq!(reasons.map(Reason::code), [49, 50, 51, 17]);
}

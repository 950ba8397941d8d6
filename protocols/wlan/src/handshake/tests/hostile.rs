//! What strangers and wrong configurations bring: it is named, and harms nobody else's handshake.

use super::super::*;
use super::pair::*;
use crate::eapol::{KeyData, KeyItem};
use crate::frame::hidden::Hidden;
use crate::suite::{Akm, Cipher};

fn installs(outputs: &[Output]) -> usize {
    outputs.iter().filter(|output| matches!(output, Output::Install(_) | Output::InstallGroup(_))).count()
}

/// KRACK: message 4 is withheld, message 3 comes again. It is answered again, and nothing is installed again.
#[test]
fn message_3_again_installs_nothing() {
    for generation in [Generation::Rsn, Generation::Wpa] {
        let terms = terms(generation, Akm::Psk, Cipher::Ccmp128);
        let mut pair = Pair::new(&terms, &master(Akm::Psk));
        let third = pair.up_to_message_3();
        let (withheld, told) = sorted(pair.station_takes(&third).unwrap());
        assert_eq!(installs(&told), if generation == Generation::Rsn { 3 } else { 1 });
        assert_eq!(pair.station_takes(&third), Err(Refused::Replayed));
        for _ in 0..2 {
            pair.world.now = pair.ap.deadline().unwrap().at;
            let again = only(pair.world.with(|_, cx| pair.ap.tick(cx)));
            let answer = only(pair.station_takes(&again).unwrap());
            assert_ne!(answer, withheld[0]);
        }
        // Each message 4 answers one of the outstanding messages 3, and the first that comes counts.
        let outputs = pair.ap_takes(&withheld[0]).unwrap();
        assert_eq!(installs(&outputs), 1);
    }
}

/// The same with the group key handshake, and with a group key that was installed at another index.
#[test]
fn a_group_key_is_installed_once() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    pair.agree();
    for (octet, index, count) in [(0x17, 1, 0), (0x17, 2, 0), (0x18, 2, 2), (0x18, 2, 0)] {
        let first = only(pair.change_group(group(&wpa2(), octet, index)));
        let (answers, told) = sorted(pair.station_takes(&first).unwrap());
        assert_eq!((installs(&told), answers.len()), (count, 1), "{octet:x} at {index}");
        assert_eq!(pair.station_takes(&first), Err(Refused::Replayed));
        pair.world.now = pair.ap.deadline().unwrap().at;
        let again = only(pair.world.with(|_, cx| pair.ap.tick(cx)));
        let (answers, told) = sorted(pair.station_takes(&again).unwrap());
        assert_eq!(installs(&told), 0);
        assert_eq!(pair.ap_takes(&answers[0]), Ok(vec![Output::Completed(Handshake::GroupKey)]));
    }
}

#[test]
fn group_keys_that_cannot_be_used_end_the_handshake() {
    let terms = wpa2();
    let good = group(&terms, 0x17, 1);
    let with_gtk = |gtk: GroupKey| GroupKeys { gtk, ..good.clone() };
    let zeros = with_gtk(GroupKey { key: vec![0; 16].as_slice().into(), ..good.gtk.clone() });
    let short = with_gtk(GroupKey { key: vec![1; 5].as_slice().into(), ..good.gtk.clone() });
    let long = with_gtk(GroupKey { key: vec![1; 32].as_slice().into(), ..good.gtk.clone() });
    let index = with_gtk(GroupKey { index: 0, ..good.gtk.clone() });
    let no_igtk = GroupKeys { igtk: None, ..good.clone() };
    let igtk = good.igtk.clone().unwrap();
    let igtk_index = GroupKeys { igtk: Some(GroupKey { index: 1, ..igtk.clone() }), ..good.clone() };
    let igtk_zeros = GroupKey { key: vec![0; 16].as_slice().into(), ..igtk };
    let igtk_zeros = GroupKeys { igtk: Some(igtk_zeros), ..good.clone() };
    for bad in [zeros, short, long, index, no_igtk, igtk_index, igtk_zeros] {
        let mut pair = Pair::new(&terms, &master(Akm::Psk));
        pair.ap = Authenticator::new(terms.clone(), master(Akm::Psk), bad.clone(), Retransmission::default());
        let third = pair.up_to_message_3();
        assert_eq!(pair.station_takes(&third), Ok(vec![Output::Failed(Reason::GroupKeyUnusable)]));
        // And in the group key handshake.
        let mut pair = Pair::new(&terms, &master(Akm::Psk));
        pair.agree();
        let first = only(pair.change_group(bad));
        assert_eq!(pair.station_takes(&first), Ok(vec![Output::Failed(Reason::GroupKeyUnusable)]));
    }
}

/// Somebody changed the beacon, or the association request.
#[test]
fn a_downgrade_is_noticed_by_whom_it_concerns() {
    let strong = Terms { access_point: declared(&[Cipher::Ccmp256, Cipher::Ccmp128]), ..wpa2() };
    let weak = Terms { access_point: declared(&[Cipher::Ccmp128]), ..wpa2() };
    let key = master(Akm::Psk);
    let mut pair = Pair::of([&strong, &weak], [&key, &key]);
    let third = pair.up_to_message_3();
    assert_eq!(pair.station_takes(&third), Ok(vec![Output::Failed(Reason::ElementsDiffer)]));
    let other = Terms { station: declared(&[Cipher::Tkip]), ..wpa2() };
    let rsnxe = Some(vec![244, 1, 0x20]);
    let with_rsnxe = Terms { station: Declared { rsnxe, ..wpa2().station }, ..wpa2() };
    for other in [other, with_rsnxe] {
        for terms in [[&wpa2(), &other], [&other, &wpa2()]] {
            let mut pair = Pair::of(terms, [&key, &key]);
            let first = pair.begin();
            let second = only(pair.station_takes(&first).unwrap());
            assert_eq!(pair.ap_takes(&second), Ok(vec![Output::Failed(Reason::ElementsDiffer)]));
        }
    }
}

fn declared(ciphers: &[Cipher]) -> Declared {
    use crate::frame::rsn::{Rsne, Selector};
    let pairwise = ciphers.iter().map(|&cipher| Selector::of_cipher(cipher)).collect();
    let rsne = Rsne { pairwise, ..Rsne::new(Cipher::Ccmp128, Cipher::Ccmp128, Akm::Psk) };
    Declared { element: rsne.to_bytes(), rsnxe: None }
}

#[test]
fn another_passphrase_is_told_from_silence() {
    let other = Master::Pmk { key: vec![1; 32].as_slice().into(), name: None };
    let mut pair = Pair::of([&wpa2(), &wpa2()], [&master(Akm::Psk), &other]);
    let mut first = pair.begin();
    let outputs = loop {
        let second = only(pair.station_takes(&first).unwrap());
        assert_eq!(pair.ap_takes(&second), Err(Refused::Mic));
        pair.world.now = pair.ap.deadline().unwrap().at;
        match sorted(pair.world.with(|_, cx| pair.ap.tick(cx))) {
            (mut sent, told) if told.is_empty() => first = sent.remove(0),
            (_, told) => break told,
        }
    };
    assert_eq!(outputs, [Output::Failed(Reason::WrongKey)]);
    assert_eq!(pair.ap.mic_failures(), 4);
}

/// Every bit of every message that a MIC protects: what is changed is refused, and what is right still goes through.
#[test]
fn whatever_is_changed_on_the_way_is_refused() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let first = pair.begin();
    let second = only(pair.station_takes(&first).unwrap());
    let changed = |pdu: &[u8]| -> Vec<Vec<u8>> {
        let flip = |at: usize| {
            let mut pdu = pdu.to_vec();
            pdu[at] ^= 1;
            pdu
        };
        (1..pdu.len()).map(flip).collect()
    };
    for pdu in changed(&second) {
        assert!(pair.ap_takes(&pdu).is_err(), "{pdu:x?}");
    }
    let third = only(pair.ap_takes(&second).unwrap());
    for pdu in changed(&third) {
        assert!(pair.station_takes(&pdu).is_err(), "{pdu:x?}");
    }
    let (fourth, told) = sorted(pair.station_takes(&third).unwrap());
    assert_eq!(installs(&told), 3);
    for pdu in changed(&fourth[0]) {
        assert!(pair.ap_takes(&pdu).is_err(), "{pdu:x?}");
    }
    assert_eq!(installs(&pair.ap_takes(&fourth[0]).unwrap()), 1);
    assert!(pair.ap.mic_failures() > 100 && pair.station.mic_failures() > 50);
}

/// Message 1 has no MIC, so anybody may send one.
#[test]
fn a_strange_message_1_displaces_nothing() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let first = pair.begin();
    let second = only(pair.station_takes(&first).unwrap());
    let mut strange = first;
    strange[20] ^= 1;
    only(pair.station_takes(&strange).unwrap());
    let third = only(pair.ap_takes(&second).unwrap());
    let [ap, station] = pair.run(third);
    assert_eq!((installs(&ap), installs(&station)), (1, 3));
    // Nor when the keys are installed, if only its counter is new.
    strange[16] = 0xff;
    only(pair.station_takes(&strange).unwrap());
    let group_1 = only(pair.change_group(group(&wpa2(), 0x18, 2)));
    let [ap, _] = pair.run(group_1);
    assert_eq!(ap, [Output::Completed(Handshake::GroupKey)]);
    pair.world.now = pair.station.deadline().unwrap().at;
    assert_eq!(pair.world.with(|_, cx| pair.station.tick(cx)), []);
}

/// A group key outside encrypted key data could be anybody's.
#[test]
fn a_group_key_in_the_clear_is_not_taken() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let first = pair.begin();
    let second = only(pair.station_takes(&first).unwrap());
    let terms = wpa2();
    let anonce = first[17..49].try_into().unwrap();
    let snonce = second[17..49].try_into().unwrap();
    let key = KeyItem::Gtk { key_id: 1, transmit: false, key: Hidden(&[9; 16]) };
    let key_data = [terms.access_point.element.clone(), KeyData::write(&[key])].concat();
    let clear = pair.world.with(|_, cx| {
        use crate::eapol::{KeyInformation as I, RsnKey};
        let ptk = terms.ptk(&master(Akm::Psk), (anonce, snonce), cx.crypto);
        let bits = [I::PAIRWISE, I::INSTALL, I::ACK, I::MIC, I::SECURE];
        let third = RsnKey { nonce: anonce, key_len: 16, key_data: &key_data, ..terms.frame(&bits, 9) };
        terms.signed(&third, &ptk, cx.crypto)
    });
    assert_eq!(pair.station_takes(&clear), Err(Refused::KeyData));
}

#[test]
fn what_is_no_message_of_these_terms_is_named() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let first = pair.begin();
    let second = only(pair.station_takes(&first).unwrap());
    let with = |pdu: &[u8], at: usize, octet: u8| {
        let mut pdu = pdu.to_vec();
        pdu[at] = octet;
        pdu
    };
    let mut refused = |pdu: Vec<u8>| pair.station_takes(&pdu).unwrap_err().to_string();
    assert_eq!(refused(first[..50].to_vec()), "EAPOL packet body at offset 4: needs 95 bytes, 46 are left");
    assert_eq!(refused(with(&first, 98, 9)), "EAPOL-Key key data length at offset 97: length 9 does not fit");
    assert_eq!(refused(with(&first, 4, 254)), "EAPOL-Key descriptor of another protocol");
    assert_eq!(refused(with(&first, 6, 0x89)), "EAPOL-Key descriptor version of other suites");
    assert_eq!(refused(with(&first, 8, 32)), "EAPOL-Key key length of another cipher");
    assert_eq!(refused(second.clone()), "EAPOL-Key message that nobody waits for");
    assert_eq!(refused(with(&first, 5, 0x20)), "EAPOL-Key message that nobody waits for");
    assert_eq!(pair.ap_takes(&first), Err(Refused::Unexpected));
    assert_eq!(pair.ap_takes(&with(&second, 16, 7)), Err(Refused::Counter));
    let mut fresh = Pair::new(&wpa2(), &master(Akm::Psk));
    assert_eq!(fresh.ap_takes(&second), Err(Refused::Unexpected));
}

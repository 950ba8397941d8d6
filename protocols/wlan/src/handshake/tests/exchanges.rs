//! Handshakes as they are meant: every AKM and cipher, losses, changes of keys.

use super::super::*;
use super::pair::*;
use crate::suite::{Akm, Cipher};

const CIPHERS: [Cipher; 5] =
    [Cipher::Tkip, Cipher::Ccmp128, Cipher::Ccmp256, Cipher::Gcmp128, Cipher::Gcmp256];

fn installed(outputs: &[Output]) -> Vec<PairwiseKey> {
    let key = |output: &Output| match output {
        Output::Install(key) => Some(key.clone()),
        _ => None,
    };
    outputs.iter().filter_map(key).collect()
}

fn groups(outputs: &[Output]) -> Vec<GroupKey> {
    let key = |output: &Output| match output {
        Output::InstallGroup(key) => Some(key.clone()),
        _ => None,
    };
    outputs.iter().filter_map(key).collect()
}

fn expected(keys: GroupKeys) -> Vec<GroupKey> {
    [keys.gtk].into_iter().chain(keys.igtk).collect()
}

fn check(terms: &Terms) {
    let mut pair = Pair::new(terms, &master(terms.akm));
    let [ap, station] = pair.agree();
    let what = format!("{:?} {:?} {:?}", terms.generation, terms.akm, terms.pairwise);
    assert_eq!(installed(&ap), installed(&station), "{what}");
    assert_eq!(installed(&ap)[0].tk.len(), terms.pairwise.key_len(), "{what}");
    assert_eq!(groups(&station), expected(group(terms, 0x17, 1)), "{what}");
    assert_eq!(ap.last(), Some(&Output::Completed(Handshake::FourWay)), "{what}");
    assert!(pair.ap.deadline().is_none() && pair.station.deadline().is_none(), "{what}");
    // And the next group keys.
    let next = group(terms, 0x18, 2);
    let first = only(pair.change_group(next.clone()));
    let [ap, station] = pair.run(first);
    assert_eq!(ap, [Output::Completed(Handshake::GroupKey)], "{what}");
    assert_eq!(groups(&station), expected(next), "{what}");
}

#[test]
fn every_akm_agrees_on_keys_for_every_cipher() {
    for &akm in Akm::ALL {
        for cipher in CIPHERS {
            check(&terms(Generation::Rsn, akm, cipher));
        }
    }
    for akm in [Akm::Dot1x, Akm::Psk] {
        for cipher in [Cipher::Tkip, Cipher::Ccmp128] {
            check(&terms(Generation::Wpa, akm, cipher));
        }
    }
}

#[test]
fn messages_have_the_bits_and_lengths_of_the_standard() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let first = pair.begin();
    let second = only(pair.station_takes(&first).unwrap());
    let third = only(pair.ap_takes(&second).unwrap());
    let (fourth, _) = sorted(pair.station_takes(&third).unwrap());
    let bits = |pdu: &[u8]| u16::from_be_bytes([pdu[5], pdu[6]]);
    assert_eq!([&first, &second, &third, &fourth[0]].map(|pdu| bits(pdu)), [0x008a, 0x010a, 0x13ca, 0x030a]);
    assert_eq!((first.len(), fourth[0].len()), (99, 99));
    pair.ap_takes(&fourth[0]).unwrap();
    let group_1 = only(pair.change_group(group(&wpa2(), 0x18, 2)));
    let (group_2, _) = sorted(pair.station_takes(&group_1).unwrap());
    assert_eq!([&group_1, &group_2[0]].map(|pdu| bits(pdu)), [0x1382, 0x0302]);
}

#[test]
fn what_is_lost_is_sent_again_under_another_counter() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let lost = pair.begin();
    pair.world.now = pair.ap.deadline().unwrap().at;
    assert_eq!(pair.world.now.as_nanos(), 100_000_000);
    let first = only(pair.world.with(|_, cx| pair.ap.tick(cx)));
    assert_eq!((lost[5..9].to_vec(), lost[17..].to_vec()), (first[5..9].to_vec(), first[17..].to_vec()));
    assert_ne!(lost, first);
    // Message 2 to the message 1 that came late counts, too.
    let second = only(pair.station_takes(&lost).unwrap());
    let lost = only(pair.ap_takes(&second).unwrap());
    pair.world.now = pair.ap.deadline().unwrap().at;
    let third = only(pair.world.with(|_, cx| pair.ap.tick(cx)));
    assert_ne!(lost, third);
    let [ap, station] = pair.run(third);
    assert_eq!((installed(&ap).len(), installed(&station).len()), (1, 1));
    // What was lost comes after all.
    assert_eq!(pair.station_takes(&lost), Err(Refused::Replayed));
}

#[test]
fn who_is_not_answered_gives_up() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    pair.begin();
    for _ in 0..3 {
        pair.world.now = pair.ap.deadline().unwrap().at;
        only(pair.world.with(|_, cx| pair.ap.tick(cx)));
    }
    pair.world.now = pair.ap.deadline().unwrap().at;
    // 100 ms, 512 ms and twice 1024 ms.
    assert_eq!(pair.world.now.as_nanos(), 2_660_000_000);
    assert_eq!(pair.world.with(|_, cx| pair.ap.tick(cx)), [Output::Failed(Reason::Timeout)]);
    pair.world.now = pair.station.deadline().unwrap().at;
    assert_eq!(pair.world.with(|_, cx| pair.station.tick(cx)), [Output::Failed(Reason::Timeout)]);
    assert!(pair.ap.deadline().is_none() && pair.station.deadline().is_none());
}

#[test]
fn the_group_key_handshake_gives_up_too() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    pair.agree();
    pair.change_group(group(&wpa2(), 0x18, 2));
    let mut outputs = Vec::new();
    while let Some(deadline) = pair.ap.deadline() {
        pair.world.now = deadline.at;
        outputs = pair.world.with(|_, cx| pair.ap.tick(cx));
    }
    assert_eq!(outputs, [Output::Failed(Reason::GroupTimeout)]);
}

#[test]
fn group_keys_that_change_meanwhile_follow() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let third = pair.up_to_message_3();
    let next = group(&wpa2(), 0x18, 2);
    assert!(pair.change_group(next.clone()).is_empty());
    let [ap, station] = pair.run(third);
    assert_eq!(ap.last(), Some(&Output::Completed(Handshake::GroupKey)));
    assert_eq!(groups(&station)[2..], expected(next));
}

#[test]
fn another_handshake_changes_the_pairwise_key_and_leaves_the_group_keys() {
    let with_ids = Terms { extended_key_id: true, ..wpa2() };
    for (terms, indexes) in [(wpa2(), [0, 0, 0]), (with_ids, [0, 1, 0])] {
        let mut pair = Pair::new(&terms, &master(Akm::Psk));
        let mut keys = Vec::new();
        for index in indexes {
            let [ap, station] = pair.agree();
            assert_eq!(installed(&ap), installed(&station));
            assert_eq!(installed(&ap)[0].index, index);
            assert_eq!(groups(&station).is_empty(), !keys.is_empty());
            let key = installed(&ap)[0].tk.clone();
            assert!(!keys.contains(&key));
            keys.push(key);
        }
    }
}

#[test]
fn a_station_asks_for_new_keys() {
    let mut pair = Pair::new(&wpa2(), &master(Akm::Psk));
    let ask = |pair: &mut Pair, handshake, is_mic_failure| {
        pair.world.with(|_, cx| pair.station.request(handshake, is_mic_failure, cx))
    };
    assert_eq!(ask(&mut pair, Handshake::FourWay, false), Err(Refused::Unexpected));
    pair.agree();
    for (handshake, is_mic_failure) in [(Handshake::FourWay, false), (Handshake::GroupKey, true)] {
        let request = only(ask(&mut pair, handshake, is_mic_failure).unwrap());
        assert_eq!(pair.ap_takes(&request), Ok(vec![Output::Requested { handshake, is_mic_failure }]));
        assert_eq!(pair.ap_takes(&request), Err(Refused::Replayed));
    }
}

#[test]
fn message_1_names_the_pmk() {
    let named = |name| Master::Pmk { key: vec![0x42; 32].as_slice().into(), name: Some([name; 16]) };
    let mut pair = Pair::new(&wpa2(), &named(7));
    assert_eq!(pair.begin().len(), 99 + 22);
    pair.agree();
    let mut pair = Pair::of([&wpa2(), &wpa2()], [&named(7), &named(8)]);
    let first = pair.begin();
    assert_eq!(pair.station_takes(&first), Err(Refused::Pmkid));
}

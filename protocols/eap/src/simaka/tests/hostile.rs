//! A man in the middle who flips bits, and messages out of place.

use super::super::attribute::{Attribute, kind};
use super::super::message::{Builder, Message, PACKET_BYTES_MAX};
use super::super::reason;
use super::super::vector::Quintuplet;
use super::*;

/// Packets after the two of the Identity exchange.
fn packets(flavour: Flavour) -> usize {
    if flavour == Flavour::Sim { 6 } else { 4 }
}

#[test]
fn no_flipped_bit_in_a_challenge_or_its_answer_leads_to_success() {
    for flavour in Flavour::ALL {
        for number in packets(flavour) - 1..=packets(flavour) {
            // Subtype, reserved bytes and attributes; the layers below check the bytes before.
            for at in 5..60 {
                let mut lab = Lab::new(flavour);
                let identity = lab.card.identity(flavour);
                let flip = |n, mut packet: Vec<u8>| {
                    if n == number && at < packet.len() {
                        packet[at] ^= 0x10;
                    }
                    packet
                };
                let ended = lab.run_through(identity, flip);
                let touched = number == packets(flavour) - 1 || at < 28;
                if touched {
                    ended.failed();
                }
            }
        }
    }
}

#[test]
fn a_message_of_another_subtype_fails_with_a_reason() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        let identity = lab.card.identity(flavour);
        let last = packets(flavour);
        let ended = lab.run_through(identity, |n, packet| {
            if n != last {
                return packet;
            }
            Builder::response(flavour, packet[1], subtype::REAUTHENTICATION)
                .with(&Attribute::Counter(1))
                .finish()
        });
        let (_, server) = ended.failed();
        assert_eq!(server, reason::UNEXPECTED, "{flavour:?}");
    }
}

#[test]
fn repeated_challenges_are_refused() {
    let mut lab = Lab::new(Flavour::Sim);
    let identity = lab.card.identity(Flavour::Sim);
    let ended = lab.run_through(identity, |n, mut packet| {
        if n == 5 {
            packet.copy_within(12..28, 28);
        }
        packet
    });
    assert_eq!(ended.failed().0, reason::MALFORMED);
}

#[test]
fn a_forged_auts_is_refused() {
    let mut lab = Lab::new(Flavour::Aka);
    let identity = lab.card.identity(Flavour::Aka);
    let ended = lab.run_through(identity, |n, packet| {
        if n != 4 {
            return packet;
        }
        Builder::response(Flavour::Aka, packet[1], subtype::AKA_SYNCHRONIZATION_FAILURE)
            .with(&Attribute::Auts([9; 14]))
            .finish()
    });
    assert_eq!(ended.failed().1, reason::RESYNCHRONISATION);
}

#[test]
fn a_changed_identity_message_is_found_by_the_checkcode() {
    for flavour in [Flavour::Aka, Flavour::AkaPrime] {
        let mut lab = Lab::new(flavour);
        lab.server.ask_identity = true;
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, mut packet| {
            // AT_ANY_ID_REQ becomes AT_FULLAUTH_ID_REQ in transit.
            if n == 3 {
                packet[8] = 17;
            }
            packet
        });
        assert_eq!(ended.failed().0, reason::CHECKCODE);
    }
}

#[test]
fn a_failure_that_is_notified_early_ends_it() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, packet| {
            if n != 3 {
                return packet;
            }
            Builder::request(flavour, packet[1], subtype::NOTIFICATION)
                .with(&Attribute::Notification(0x4000))
                .finish()
        });
        assert_eq!(ended.peer, PeerOutput::Failed(crate::Reason(reason::NOTIFIED)));
    }
}

#[test]
fn success_cannot_be_notified_before_authentication() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, packet| {
            if n != 3 {
                return packet;
            }
            Builder::request(flavour, packet[1], subtype::NOTIFICATION)
                .with(&Attribute::Notification(0x8000))
                .finish()
        });
        assert_eq!(ended.failed().0, reason::MALFORMED);
    }
}

/// RFC 4186 §6.1: before authentication only failures with the P bit may be notified; either bit alone means another time.
#[test]
fn notifications_for_after_authentication_are_refused_before_it() {
    for code in [0x0000, 0x0001, 0x8000, 0xc000] {
        let mut lab = Lab::new(Flavour::Aka);
        let identity = lab.card.identity(Flavour::Aka);
        let ended = lab.run_through(identity, |n, packet| {
            if n != 3 {
                return packet;
            }
            Builder::request(Flavour::Aka, packet[1], subtype::NOTIFICATION)
                .with(&Attribute::Notification(code))
                .finish()
        });
        assert_ne!(ended.peer, PeerOutput::Failed(crate::Reason(reason::NOTIFIED)), "{code:#x}");
    }
}

/// The value of an attribute of a packet; null cryptography leaves the layout unchanged.
fn value(packet: &mut [u8], wanted: u8) -> &mut [u8] {
    let mut at = 8;
    while packet[at] != wanted {
        at += usize::from(packet[at + 1]) * 4;
    }
    let end = at + usize::from(packet[at + 1]) * 4;
    &mut packet[at + 4..end]
}

/// RFC 4187 §6.3: the MAC proves that the peer has the keys, RES that it has the card; both are required.
#[test]
fn a_wrong_response_of_the_card_is_refused_in_spite_of_a_valid_mac() {
    for flavour in [Flavour::Aka, Flavour::AkaPrime] {
        let mut lab = Lab::new(flavour);
        lab.world = World::null();
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, mut packet| {
            if n == packets(flavour) {
                value(&mut packet, kind::RES)[0] ^= 1;
            }
            packet
        });
        assert_eq!(ended.failed().1, reason::WRONG_RESPONSE, "{flavour:?}");
    }
}

/// RFC 4186 §9.8: after a fast re-authentication the notification repeats its counter, otherwise it is a replay.
#[test]
fn a_notification_with_another_counter_is_not_accepted() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.world = World::null();
        (lab.server.result_indications, lab.peer.result_indications) = (true, true);
        lab.run().agreed();
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, mut packet| {
            if n == 5 {
                // AT_COUNTER is the first attribute inside: type, length, counter. Null cryptography leaves it unencrypted.
                let inside = value(&mut packet, kind::ENCR_DATA);
                assert_eq!(inside[..4], [kind::COUNTER, 1, 0, 1]);
                inside[3] = 2;
            }
            packet
        });
        assert_eq!(ended.peer, PeerOutput::Failed(crate::Reason(reason::MALFORMED)), "{flavour:?}");
    }
}

/// RFC 4186 §10.2: whole version numbers, at least one.
#[test]
fn a_list_of_versions_is_neither_empty_nor_truncated() {
    let list = |list: &[u8]| {
        let length = u16::try_from(list.len()).unwrap().to_be_bytes();
        let padding = vec![0; list.len().next_multiple_of(4) - list.len()];
        let words = u8::try_from((4 + list.len()).div_ceil(4)).unwrap();
        let body = [&[kind::VERSION_LIST, words], &length[..], list, &padding].concat();
        let total = u16::try_from(8 + body.len()).unwrap().to_be_bytes();
        [&[1, 7], &total[..], &[Flavour::Sim.method_type(), subtype::SIM_START, 0, 0], &body].concat()
    };
    let read = |versions: &[u8]| {
        let packet = list(versions);
        Message::read_request(Flavour::Sim, &packet).map(|message| message.attributes.versions().is_some())
    };
    assert_eq!(read(&[0, 1]), Ok(true));
    assert_eq!(read(&[0, 1, 0, 2]), Ok(true));
    for wrong in [&[][..], &[0], &[0, 1, 0]] {
        assert_eq!(read(wrong).unwrap_err().field, "AT_VERSION_LIST", "{wrong:?}");
    }
}

/// RFC 4186 §8.1: unknown attributes from 128 on may be skipped, those below not.
#[test]
fn skippable_attributes_are_skipped() {
    for (kind, gets_in) in [(127, false), (128, true), (200, true)] {
        let mut lab = Lab::new(Flavour::Aka);
        lab.server.ask_identity = true;
        // Under null cryptography the checkcode does not detect the change.
        lab.world = World::null();
        let identity = lab.card.identity(Flavour::Aka);
        let ended = lab.run_through(identity, |n, mut packet| {
            if n == 3 {
                packet.extend([kind, 1, 0, 0]);
                packet[3] += 4;
            }
            packet
        });
        assert_eq!(matches!(ended.peer, PeerOutput::Success(_)), gets_in, "{kind}\n{}", ended.ladder);
    }
}

/// A packet longer than RADIUS can carry is refused because of its length.
#[test]
fn the_longest_packet_is_accepted_and_no_longer_one() {
    let packet = |len: usize| {
        let length = u16::try_from(len).unwrap().to_be_bytes();
        let mut packet =
            [&[1, 7], &length[..], &[Flavour::Aka.method_type(), subtype::NOTIFICATION, 0, 0]].concat();
        while packet.len() < len {
            let words = ((len - packet.len()) / 4).min(255);
            packet.extend([200, u8::try_from(words).unwrap()]);
            packet.resize(packet.len() - 2 + 4 * words, 0);
        }
        packet
    };
    let read = |len| Message::read_request(Flavour::Aka, &packet(len)).map(drop).map_err(|error| error.field);
    assert_eq!(read(PACKET_BYTES_MAX - 4), Ok(()));
    assert_eq!(read(PACKET_BYTES_MAX), Ok(()));
    assert_eq!(read(PACKET_BYTES_MAX + 4), Err("Length"));
}

/// A conversation in which packet number n is replaced.
fn replaced(lab: &mut Lab, number: usize, by: impl Fn(Vec<u8>) -> Vec<u8>) -> Ended {
    let identity = lab.card.identity(lab.flavour);
    lab.run_through(identity, |n, packet| if n == number { by(packet) } else { packet })
}

/// TS 33.402 §6.1: a vector without the separation bit was made for another access.
#[test]
fn a_vector_for_another_access_is_rejected() {
    let Algorithm::Milenage(key) = milenage(0x11) else { panic!("Milenage") };
    let step = |amf| {
        let crypto = &mut crate::simaka::testing::real();
        let vector = Quintuplet::generate(&key, [7; 16], Sqn::new(32).next(), [amf, 0], crypto);
        let challenge = Builder::request(Flavour::AkaPrime, 1, subtype::AKA_CHALLENGE)
            .with(&Attribute::Rand(&vector.rand))
            .with(&Attribute::Autn(vector.autn))
            .with(&Attribute::KdfInput(b"WLAN"))
            .with(&Attribute::Kdf(1))
            .with(&Attribute::Mac([0; 16]))
            .finish();
        let mut lab = Lab::new(Flavour::AkaPrime);
        let (settings, rng) = (Arc::new(peer::Settings::default()), Rng::named(1, "peer"));
        let mut peer = peer::Peer::new(Flavour::AkaPrime, settings, lab.card.clone(), vec![], rng);
        match lab.world.lend(|_, cx| peer.on_request(&challenge, 1, cx)) {
            peer::Step::Failed(packet, why) => (packet[5], why),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(step(0), (subtype::AKA_AUTHENTICATION_REJECT, reason::NETWORK_REJECTED));
    assert_eq!(step(0x80), (subtype::CLIENT_ERROR, reason::NETWORK_REJECTED), "only its MAC is wrong");
}

/// RFC 9048 §3.1, §3.2: a list without repetitions; a request only for an offered function other than the first, and only
/// once.
#[test]
fn key_derivations_are_negotiated_once_and_among_those_offered() {
    let challenge = |kdfs: Vec<u16>, number, by: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let mut lab = Lab::new(Flavour::AkaPrime);
        lab.world = World::null();
        lab.server.kdfs = kdfs;
        replaced(&mut lab, number, by)
    };
    let wish = |packet: Vec<u8>| {
        let response = Builder::response(Flavour::AkaPrime, packet[1], subtype::AKA_CHALLENGE);
        response.with(&Attribute::Kdf(1)).finish()
    };
    for (offered, number, challenges) in [(vec![1, 7], 4, 1), (vec![7, 9], 4, 1), (vec![7, 1, 9], 6, 2)] {
        let ladder = challenge(offered.clone(), number, &wish).ladder;
        assert_eq!(ladder.matches("-> Challenge").count(), challenges, "{offered:?}\n{ladder}");
        assert!(ladder.contains("-> Notification"), "{offered:?}\n{ladder}");
    }
    for repeated in [vec![1, 1], vec![7, 1, 7], vec![1, 7, 7]] {
        let ended = challenge(repeated.clone(), usize::MAX, &wish);
        assert_eq!(ended.failed().0, reason::NO_KDF, "{repeated:?}\n{}", ended.ladder);
    }
}

/// RFC 4187 §6.3.1: a database that is out of sequence after one AUTS is not helped by a second, but the peer sends it.
#[test]
fn the_peer_sends_auts_at_most_twice() {
    let mut lab = Lab::new(Flavour::Aka);
    let mut card = Card::new(imsi(), "", milenage(0x11), Sqn::new(0x77_0000));
    let crypto = &mut crate::simaka::testing::real();
    let Algorithm::Milenage(key) = milenage(0x11) else { panic!("Milenage") };
    let challenge = |identifier| {
        let vector = Quintuplet::generate(
            &key,
            [identifier; 16],
            Sqn::new(64),
            [0, 0],
            &mut crate::simaka::testing::real(),
        );
        Builder::request(Flavour::Aka, identifier, subtype::AKA_CHALLENGE)
            .with(&Attribute::Rand(&vector.rand))
            .with(&Attribute::Autn(vector.autn))
            .with(&Attribute::Mac([0; 16]))
            .finish()
    };
    assert!(card.umts(&[1; 16], &[0; 16], crypto).is_err());
    lab.card = SharedCard::new(card);
    let settings = Arc::new(peer::Settings::default());
    let mut peer = peer::Peer::new(Flavour::Aka, settings, lab.card.clone(), vec![], Rng::named(1, "peer"));
    let mut take = |identifier| {
        let packet = challenge(identifier);
        lab.world.lend(|_, cx| peer.on_request(&packet, identifier, cx))
    };
    for identifier in [1, 2] {
        let step = take(identifier);
        let peer::Step::Continue(packet) = step else { panic!("{step:?}") };
        assert_eq!(packet[5], subtype::AKA_SYNCHRONIZATION_FAILURE);
    }
    let step = take(3);
    assert!(matches!(step, peer::Step::Failed(_, reason::RESYNCHRONISATION)), "{step:?}");
}

/// RFC 4186 §6.2: success may only be indicated if both sides requested it.
#[test]
fn success_is_not_notified_without_request() {
    for (notified, wanted, answer) in
        [(0x8000, false, "Client-Error"), (0x8000, true, "Notification"), (0x0000, false, "Notification")]
    {
        let mut lab = Lab::new(Flavour::Aka);
        lab.world = World::null();
        (lab.peer.result_indications, lab.server.result_indications) = (wanted, wanted);
        let ended = replaced(&mut lab, 5, |packet| {
            Builder::request(Flavour::Aka, packet[1].wrapping_add(1), subtype::NOTIFICATION)
                .with(&Attribute::Notification(notified))
                .with(&Attribute::Mac([0; 16]))
                .finish()
        });
        let lines: Vec<&str> = ended.ladder.lines().collect();
        assert_eq!(lines.get(6), Some(&format!("<- {answer}").as_str()), "{}", ended.ladder);
    }
}

/// The server's reasons for an invalid proof, and for messages that it has not seen.
#[test]
fn the_server_reports_what_was_wrong_in_the_answer() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        let ended = replaced(&mut lab, packets(flavour), |mut packet| {
            *packet.last_mut().unwrap() ^= 1;
            packet
        });
        assert_eq!(ended.failed().1, reason::WRONG_RESPONSE, "{flavour:?}");
    }
    let mut lab = Lab::new(Flavour::Aka);
    lab.world = World::null();
    lab.server.ask_identity = true;
    let ended = replaced(&mut lab, 6, |mut packet| {
        value(&mut packet, kind::CHECKCODE)[0] ^= 1;
        packet
    });
    assert_eq!(ended.failed().1, reason::CHECKCODE, "{}", ended.ladder);
}

#[test]
fn the_peer_reports_a_message_out_of_place() {
    let mut lab = Lab::new(Flavour::Aka);
    let ended = replaced(&mut lab, 3, |packet| {
        Builder::request(Flavour::Aka, packet[1], subtype::AKA_SYNCHRONIZATION_FAILURE).finish()
    });
    assert_eq!(ended.failed().0, reason::UNEXPECTED);
}

/// RFC 9048 §4: AT_BIDDING only occurs in EAP-AKA, from servers that prefer EAP-AKA′. RFC 4187 §10.13: the checkcode occurs
/// in EAP-AKA and EAP-AKA′.
#[test]
fn bidding_and_checkcodes_occur_only_where_allowed() {
    for flavour in Flavour::ALL {
        for prefers_prime in [false, true] {
            let mut lab = Lab::new(flavour);
            lab.server.prefers_prime = prefers_prime;
            for first in [true, false] {
                let (number, seen) =
                    (if first { packets(flavour) - 1 } else { 3 }, std::cell::Cell::new((false, false)));
                replaced(&mut lab, number, |packet| {
                    let message = Message::read_request(flavour, &packet).unwrap();
                    seen.set((
                        message.attributes.has(kind::BIDDING),
                        message.attributes.has(kind::CHECKCODE),
                    ));
                    packet
                })
                .agreed();
                let expected = (first && flavour == Flavour::Aka && prefers_prime, flavour != Flavour::Sim);
                assert_eq!(seen.get(), expected, "{flavour:?}, {prefers_prime}, {first}");
            }
        }
    }
}

//! Somebody in between who changes bits, and messages that do not belong where they come.

use super::super::attribute::{Attribute, kind};
use super::super::message::Builder;
use super::super::reason;
use super::*;

/// Packets after the two of the Identity exchange.
fn packets(flavour: Flavour) -> usize {
    if flavour == Flavour::Sim { 6 } else { 4 }
}

#[test]
fn no_flipped_bit_in_a_challenge_or_its_answer_gets_anybody_in() {
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
fn a_message_of_another_subtype_fails_with_a_name() {
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
            // AT_ANY_ID_REQ becomes AT_FULLAUTH_ID_REQ on its way.
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
fn success_cannot_be_notified_before_it_is_proven() {
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

/// RFC 4186 §6.1: before authentication only failures with the P bit may be notified; each of both bits alone says that.
#[test]
fn what_claims_to_come_after_authentication_is_not_said_before_it() {
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

/// The value of an attribute of a packet, whose layout null cryptography leaves as it is.
fn value(packet: &mut [u8], wanted: u8) -> &mut [u8] {
    let mut at = 8;
    while packet[at] != wanted {
        at += usize::from(packet[at + 1]) * 4;
    }
    let end = at + usize::from(packet[at + 1]) * 4;
    &mut packet[at + 4..end]
}

/// RFC 4187 §6.3: the MAC says that the peer has the keys, RES that it has the card; one without the other is nothing.
#[test]
fn a_wrong_response_of_the_card_is_refused_however_right_its_mac_is() {
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

/// RFC 4186 §9.8: after a fast re-authentication the notification repeats its counter, else it is an old one.
#[test]
fn a_notification_of_another_counter_is_not_believed() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.world = World::null();
        (lab.server.result_indications, lab.peer.result_indications) = (true, true);
        lab.run().agreed();
        let identity = lab.card.identity(flavour);
        let ended = lab.run_through(identity, |n, mut packet| {
            if n == 5 {
                // AT_COUNTER is the first attribute inside: type, length, counter. Without cryptography all of it is bare.
                let inside = value(&mut packet, kind::ENCR_DATA);
                assert_eq!(inside[..4], [kind::COUNTER, 1, 0, 1]);
                inside[3] = 2;
            }
            packet
        });
        assert_eq!(ended.peer, PeerOutput::Failed(crate::Reason(reason::MALFORMED)), "{flavour:?}");
    }
}

//! Identities of the peer: permanent ones, pseudonyms, fast re-authentication, and repeated requests.

use super::super::attribute::kind;
use super::super::identity::IDENTITY_BYTES_MAX;
use super::super::message::Message;
use super::*;

#[test]
fn the_second_time_is_fast_and_the_counter_continues() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        let mut seen = vec![lab.run().drew(full(flavour)).agreed().clone()];
        for _ in 0..3 {
            let ended = lab.run();
            let keys = ended.drew(AGAIN).agreed().clone();
            assert!(!seen.contains(&keys), "fresh keys every time");
            seen.push(keys);
        }
    }
}

#[test]
fn after_the_last_fast_one_a_pseudonym_leads_to_a_full_authentication() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.server.reauthentications_max = 1;
        lab.run().drew(full(flavour)).agreed();
        lab.run().drew(AGAIN).agreed();
        let identity = lab.card.identity(flavour);
        assert_eq!(char::from(identity[0]), flavour.prefixes()[1], "a pseudonym, with the realm");
        assert!(identity.ends_with(b"@nai.epc.mnc001.mcc001.3gppnetwork.org"));
        lab.run().drew(full(flavour)).agreed();
    }
}

#[test]
fn a_server_that_lost_its_state_requests_identities_step_by_step() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.run().agreed();
        lab.book = Book::new(Limits::default());
        let ask = if flavour == Flavour::Sim { "Start" } else { "AKA-Identity" };
        let rounds = format!("-> {ask}\n<- {ask}\n").repeat(3);
        lab.run()
            .drew(&format!("-> Identity\n<- Identity\n{rounds} hss\n-> Challenge\n<- Challenge\n-> Success"))
            .agreed();
    }
}

#[test]
fn a_server_may_ask_inside_the_method() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.server.ask_identity = true;
        let ask = if flavour == Flavour::Sim { "Start" } else { "AKA-Identity" };
        let begin = format!("-> Identity\n<- Identity\n-> {ask}\n<- {ask}\n");
        lab.run().drew(&format!("{begin} hss\n-> Challenge\n<- Challenge\n-> Success")).agreed();
        lab.run().drew(&format!("{begin}-> Re-authentication\n<- Re-authentication\n-> Success")).agreed();
    }
}

#[test]
fn a_counter_that_is_too_small_leads_to_a_full_authentication() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.run().agreed();
        lab.card.raise_counter(flavour);
        let rest = if flavour == Flavour::Sim { "-> Start\n<- Start\n" } else { "" };
        lab.run()
            .drew(&format!(
                "-> Identity\n<- Identity\n-> Re-authentication\n<- Re-authentication\n
                 {rest} hss\n-> Challenge\n<- Challenge\n-> Success"
            ))
            .agreed();
    }
}

#[test]
fn a_fast_identity_is_valid_once() {
    let mut lab = Lab::new(Flavour::Aka);
    lab.run().agreed();
    let identity = lab.card.identity(Flavour::Aka);
    lab.run_as(identity.clone()).drew(AGAIN).agreed();
    let known = lab.book.take(Flavour::Aka, &identity, Time::ZERO);
    assert_eq!(known, None);
}

#[test]
fn results_are_indicated_if_both_request_it() {
    for flavour in Flavour::ALL {
        for wanted in [true, false] {
            let mut lab = Lab::new(flavour);
            lab.server.result_indications = true;
            lab.peer.result_indications = wanted;
            for ladder in [full(flavour), AGAIN] {
                let notified = ladder.replace("-> Success", "-> Notification\n<- Notification\n-> Success");
                lab.run().drew(if wanted { &notified } else { ladder }).agreed();
            }
        }
    }
}

/// RFC 4186 §9.2: a peer that starts a fast re-authentication sends neither nonce nor version.
#[test]
fn a_fast_identity_comes_without_a_nonce() {
    let mut lab = Lab::new(Flavour::Sim);
    lab.server.ask_identity = true;
    for has_nonce in [true, false] {
        let identity = lab.card.identity(Flavour::Sim);
        let found = std::cell::Cell::new(None);
        lab.run_through(identity, |n, packet| {
            if n == 4 {
                let message = Message::read_response(Flavour::Sim, &packet).unwrap();
                found.set(Some(message.attributes.has(kind::NONCE_MT)));
            }
            packet
        })
        .agreed();
        assert_eq!(found.get(), Some(has_nonce));
    }
}

#[test]
fn an_identity_has_a_maximum_length() {
    for (len, gets_in) in [(IDENTITY_BYTES_MAX, true), (IDENTITY_BYTES_MAX + 1, false)] {
        let mut lab = Lab::new(Flavour::Aka);
        lab.server.ask_identity = true;
        let realm = "r".repeat(len - "0001010000000001@".len());
        lab.card = SharedCard::new(Card::new(imsi(), &realm, milenage(0x11), Sqn::new(32)));
        let ended = lab.run_as(b"0001010000000001@short".to_vec());
        assert_eq!(matches!(ended.server, ServerOutput::Success(_)), gets_in, "{len}\n{}", ended.ladder);
    }
}

#[test]
fn a_card_drops_state_and_advances_on_request() {
    let mut lab = Lab::new(Flavour::Aka);
    lab.run().drew(AKA_FULL).agreed();
    lab.card.forget();
    lab.run().drew(AKA_FULL).agreed();
    lab.card.forget();
    lab.card.used_elsewhere(1000);
    let ended = lab.run();
    assert!(ended.ladder.contains("Synchronization-Failure"), "{}", ended.ladder);
    ended.agreed();
}

/// If several methods are possible, the first character of the identity tells the kind of card.
#[test]
fn a_method_is_proposed_to_its_own_identities() {
    use crate::methods::{aka, aka_prime, sim};
    let (book, settings) = (Book::new(Limits::default()), server::Settings::default);
    let offers = [
        sim::server(settings(), book.clone()),
        aka::server(settings(), book.clone()),
        aka_prime::server(settings(), book),
    ];
    for (identity, expected) in [
        ("1001010000000001", [true, false, false]),
        ("0001010000000001", [false, true, false]),
        ("6001010000000001", [false, false, true]),
        ("alice", [false; 3]),
        ("", [false; 3]),
    ] {
        assert_eq!(offers.each_ref().map(|offer| offer.suits(identity.as_bytes())), expected, "{identity}");
    }
}

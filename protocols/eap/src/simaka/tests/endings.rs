//! Conversations with detours and failures: each failure has a reason on both sides.

use super::super::reason;
use super::*;

#[test]
fn a_wrong_key_is_detected_by_the_card() {
    for flavour in Flavour::ALL {
        let ended = Lab::of(flavour, milenage(0x11), milenage(0x99)).run();
        let (refusal, name) = match flavour {
            Flavour::Sim => ("Client-Error", reason::CLIENT_ERROR),
            Flavour::Aka | Flavour::AkaPrime => ("Authentication-Reject", reason::NETWORK_REJECTED),
        };
        let ladder = full(flavour).replace("<- Challenge", &format!("<- {refusal}"));
        ended.drew(&ladder.replace("Success", "Failure"));
        assert_eq!(ended.failed(), (reason::NETWORK_REJECTED, name));
    }
}

#[test]
fn a_card_ahead_of_the_database_resynchronises_it() {
    for flavour in [Flavour::Aka, Flavour::AkaPrime] {
        let mut lab = Lab::new(flavour);
        let ahead = Card::new(imsi(), "", milenage(0x11), Sqn::new(0x77_0000));
        lab.card = SharedCard::new(ahead);
        let ended = lab.run();
        let ladder = "
            -> Identity
            <- Identity
               hss
            -> Challenge
            <- Synchronization-Failure
               hss
            -> Challenge
            <- Challenge
            -> Success";
        ended.drew(ladder).agreed();
        lab.run().drew(AGAIN).agreed();
    }
}

#[test]
fn an_unknown_subscriber_is_notified_and_reported() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.centre = AuthenticationCentre::new(Rng::named(6, "hss"));
        assert_eq!(lab.run().failed(), (reason::NOTIFIED, reason::UNKNOWN_SUBSCRIBER));
    }
}

#[test]
fn an_unavailable_database_is_notified_and_reported() {
    for flavour in Flavour::ALL {
        let mut lab = Lab::new(flavour);
        lab.reachable = false;
        let ended = lab.run();
        let ladder = full(flavour)
            .replace("-> Challenge", "-> Notification")
            .replace("<- Challenge", "<- Notification")
            .replace("Success", "Failure");
        assert_eq!(ended.drew(&ladder).failed(), (reason::NOTIFIED, reason::NO_VECTORS));
    }
}

#[test]
fn a_gsm_card_cannot_do_aka() {
    let gsm = Algorithm::comp128(Version::V3, &[7; 16]);
    let ended = Lab::of(Flavour::Aka, gsm.clone(), milenage(0x11)).run();
    assert_eq!(ended.failed().1, reason::NETWORK_REJECTED);
    let ended = Lab::of(Flavour::Aka, milenage(0x11), gsm).run();
    assert_eq!(ended.failed().1, reason::NO_VECTORS);
}

#[test]
fn a_peer_may_require_three_challenges() {
    let mut lab = Lab::new(Flavour::Sim);
    (lab.peer.challenges_min, lab.server.challenges) = (3, 2);
    assert_eq!(lab.run().failed(), (reason::TOO_FEW_CHALLENGES, reason::TOO_FEW_CHALLENGES));
}

#[test]
fn key_derivations_are_negotiated() {
    let mut lab = Lab::new(Flavour::AkaPrime);
    lab.server.kdfs = vec![7, 1, 9];
    let ladder = AKA_FULL.replace("<- Challenge", "<- Challenge\n-> Challenge\n<- Challenge");
    lab.run().drew(&ladder).agreed();
    lab.run().drew(AGAIN).agreed();
}

#[test]
fn no_key_derivation_in_common_is_a_failure() {
    let mut lab = Lab::new(Flavour::AkaPrime);
    lab.server.kdfs = vec![7, 9];
    assert_eq!(lab.run().failed(), (reason::NO_KDF, reason::NETWORK_REJECTED));
}

#[test]
fn another_networks_name_is_refused() {
    let mut lab = Lab::new(Flavour::AkaPrime);
    lab.peer.network = Some(b"HOME".to_vec());
    assert_eq!(lab.run().failed(), (reason::NETWORK_REJECTED, reason::NETWORK_REJECTED));
    lab.server.network = b"HOME".to_vec();
    lab.run().agreed();
}

#[test]
fn bidding_down_to_aka_is_refused_by_a_peer_with_aka_prime() {
    let mut lab = Lab::new(Flavour::Aka);
    lab.server.prefers_prime = true;
    lab.run().agreed();
    let mut lab = Lab::new(Flavour::Aka);
    (lab.server.prefers_prime, lab.peer.can_prime) = (true, true);
    assert_eq!(lab.run().failed(), (reason::BIDDING_DOWN, reason::NETWORK_REJECTED));
}

#[test]
fn an_unknown_identity_ends_after_three_requests() {
    let mut lab = Lab::new(Flavour::Aka);
    let realm = "x".repeat(10);
    lab.card = SharedCard::new(Card::new(Imsi::parse("999999").unwrap(), &realm, milenage(1), Sqn::new(0)));
    assert_eq!(lab.run().failed(), (reason::NOTIFIED, reason::UNKNOWN_SUBSCRIBER));
}

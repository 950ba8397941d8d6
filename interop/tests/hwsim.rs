//! 802.11 over the air of a guest with simulated Wi-Fi: our station before hostapd and our access point before wpa_supplicant, in every
//! kind of network, with echoes through the keys. Read 802.11-2020 §11.3 and §12.6 first.

use std::path::Path;

use keytoll_interop::guest_or_skip;
use keytoll_interop::hwsim::{Role, SECRET, Said, Trial, tried};
use keytoll_interop::on_air::Kind;

const OURS: &str = env!("CARGO_BIN_EXE_keytoll-on-air");

/// What each network comes to; nothing where it cannot be tried.
fn said(role: Role, trials: &[Trial]) -> Option<Vec<Said>> {
    let home = guest_or_skip()?;
    Some(tried(role, trials, Path::new(OURS), home.dir()).unwrap_or_else(|why| panic!("{role}: {why}")))
}

fn all() -> Vec<Trial> {
    Kind::ALL.into_iter().map(|kind| Trial { kind, secret: SECRET }).collect()
}

/// Ours says these things, and the other one has these words in its log.
fn check(trial: &Trial, said: &Said, ours: &[&str], theirs: &[&str], wrong: &mut Vec<String>) {
    let missing: Vec<_> = theirs.iter().filter(|words| !said.theirs.contains(**words)).collect();
    if said.ours != ours || !missing.is_empty() {
        let end: Vec<_> = said.theirs.lines().rev().take(30).collect();
        let end = end.into_iter().rev().collect::<Vec<_>>().join("\n");
        wrong.push(format!(
            "{}: {:?}, {:?}; lacks {missing:?}:\n{end}",
            trial.kind, said.ours, said.discarded
        ));
    }
}

#[test]
fn our_station_joins_every_network_of_hostapd() {
    let Some(said) = said(Role::Station, &all()) else { return };
    let mut wrong = Vec::new();
    for (trial, said) in all().iter().zip(&said) {
        let theirs = ["AP-STA-CONNECTED", "AP-STA-DISCONNECTED"];
        check(trial, said, &["joined", "3 of 3 echoes", "left: left"], &theirs, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn our_access_point_admits_wpa_supplicant_to_every_network() {
    let Some(said) = said(Role::AccessPoint, &all()) else { return };
    let mut wrong = Vec::new();
    for (trial, said) in all().iter().zip(&said) {
        let keys = format!("[PTK={0} GTK={0}]", trial.kind.cipher_name());
        let keys = if trial.kind == Kind::Open { "CTRL-EVENT-CONNECTED" } else { &keys };
        let theirs = ["CTRL-EVENT-CONNECTED", keys, "CTRL-EVENT-DISCONNECTED"];
        check(trial, said, &["joined", "3 of 3 echoes", "ended: disconnected"], &theirs, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_wrong_password_is_refused_by_hostapd_and_named_by_ours() {
    let wrong = |kind| Trial { kind, secret: "another-passphrase" };
    let trials = [wrong(Kind::Wpa2Psk), wrong(Kind::Wpa3Sae), wrong(Kind::Wpa2Eap)];
    let Some(said) = said(Role::Station, &trials) else { return };
    let mut unexpected = Vec::new();
    let expected = [
        // 802.11-2020 table 9-49: the 4-way handshake timed out.
        ("failed: deauthenticated for reason 15", "AP-STA-POSSIBLE-PSK-MISMATCH"),
        ("failed: SAE: the peer refuses with status REFUSED", "AP-ENABLED"),
        ("failed: EAP failed", "CTRL-EVENT-EAP-FAILURE"),
    ];
    for ((trial, said), (ours, theirs)) in trials.iter().zip(&said).zip(expected) {
        check(trial, said, &[ours], &[theirs], &mut unexpected);
        assert!(!said.theirs.contains("AP-STA-CONNECTED"), "{}", said.theirs);
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n\n"));
}

//! Every fault a scenario can ask for: which node finds it, what it calls it, and that nothing is left behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use keytoll_lab::{Credentials, Memory, Row, RowEnd, Stop};
use keytoll_rigs::IKE;
use keytoll_rigs::RADIUS;
use keytoll_scenario::catalogue::{Fault, Method};
use keytoll_scenario::plan::Plan;
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::{Fact, Node, Protocol};

const SAMPLES: u32 = 2;

fn plan(method: &str, fault: &str, crypto: &str) -> Plan {
    let overrides = [
        format!("samples={SAMPLES}"),
        format!("crypto={crypto}"),
        "networks=loopback".to_owned(),
        format!("methods={method}"),
        format!("options.fault={fault}"),
        // Longer than anything half open is kept.
        "interval=\"400 s\"".to_owned(),
    ];
    let overrides = overrides.each_ref().map(String::as_str);
    Source::builtin("quickstart").unwrap().plan(&Overrides::parse(&overrides).unwrap()).unwrap()
}

/// What a run leaves behind, and what its hosts still hold.
struct Run {
    memory: Memory,
    end: RowEnd,
    /// By name: IKE SAs, devices proving themselves, RADIUS requests, EAP conversations.
    held: BTreeMap<&'static str, usize>,
}

fn run(method: &str, fault: &str, crypto: &str) -> Run {
    let plan = plan(method, fault, crypto);
    let credentials = Credentials::prepare(&plan);
    let (mut memory, mut row) = (Memory::default(), Row::new(&plan, &plan.rows[0], &credentials, 3e9));
    let end = row.run(&mut memory, &|| {}, &Stop::new(false));
    let held = row.hosts().flat_map(|(_, host)| host.holds()).collect();
    Run { memory, end, held }
}

impl Run {
    /// Everything said about failures, in the order of time, of the last authentication.
    fn said(&self) -> Vec<String> {
        let mut said = Vec::new();
        for record in self.memory.records.iter().filter(|record| record.sample == SAMPLES - 1) {
            match &record.fact {
                Fact::Failed { why } => said.push(format!("{} found: {why}", record.node.name())),
                Fact::Refused { why } => said.push(format!("{} was told: {why}", record.node.name())),
                _ => {}
            }
        }
        said
    }

    fn discarded(&self, node: Node) -> Vec<&str> {
        let mut found = Vec::new();
        for record in self.memory.records.iter().filter(|record| record.node == node) {
            if let Fact::Discarded { why, .. } = &record.fact {
                found.push(why.as_ref());
            }
        }
        found
    }

    fn sent(&self, protocol: Protocol) -> usize {
        let of = |fact: &Fact| matches!(fact, Fact::Sent(sent) if sent.protocol == protocol && !sent.name.as_str().starts_with("INFORMATIONAL"));
        self.memory.records.iter().filter(|record| of(&record.fact)).count()
    }

    fn check_nothing_is_held(&self, case: &str) {
        assert!(self.held.values().all(|&count| count == 0), "{case}: {:?}", self.held);
    }
}

/// A method, what is wrong with it, and who says what of that.
fn check(method: &str, fault: &str, said: &[&str]) {
    let case = format!("{method} {fault}");
    let run = run(method, fault, "real");
    assert_eq!(run.said(), said, "{case}: {:?}", run.discarded(Node::Ue));
    assert_eq!((run.end.samples, run.end.failed), (SAMPLES, SAMPLES), "{case}");
    run.check_nothing_is_held(&case);
}

#[test]
fn a_wrong_shared_key_is_found_by_the_gateway() {
    check(
        "ikev2-psk",
        "wrong-psk",
        &["gw found: AUTHENTICATION_FAILED", "ue was told: AUTHENTICATION_FAILED"],
    );
}

#[test]
fn a_wrong_password_is_found_by_the_aaa_server() {
    for method in ["ikev2-eap-md5", "ikev2-eap-ttls-md5"] {
        check(method, "wrong-password", &["aaa found: EAP wrong password", "ue was told: EAP Failure"]);
    }
    // MSCHAPv2 tells the peer, too (RFC 2759 §6: error 691).
    let both = ["aaa found: EAP wrong password", "ue was told: EAP wrong password"];
    check("ikev2-eap-mschapv2", "wrong-password", &both);
}

/// The network proves itself first, so it is the card that finds out.
#[test]
fn a_wrong_sim_key_is_found_by_the_card() {
    let found = "ue found: EAP network authentication rejected";
    check("ikev2-eap-sim", "wrong-sim-key", &["aaa found: EAP client error", found]);
    for method in ["ikev2-eap-aka", "ikev2-eap-aka-prime"] {
        check(method, "wrong-sim-key", &["aaa found: EAP network authentication rejected", found]);
    }
}

#[test]
fn a_bad_certificate_of_the_gateway_is_found_by_the_device() {
    for method in ["ikev2-rsa2048", "ikev2-ecdsa-p256", "ikev2-eap-md5"] {
        check(method, "expired-certificate", &["ue found: certificate expired"]);
        check(method, "revoked-certificate", &["ue found: certificate revoked"]);
        check(method, "unknown-ca", &["ue found: certificate of unknown issuer"]);
        check(method, "wrong-name", &["ue found: unexpected identity"]);
    }
}

#[test]
fn a_bad_certificate_of_the_aaa_server_is_found_by_the_device() {
    for method in ["ikev2-eap-tls", "ikev2-eap-ttls-md5"] {
        let told = |alert: &str, found: &str| {
            [format!("aaa found: TLS alert {alert}"), format!("ue found: TLS {found}")]
        };
        let check = |fault, said: [String; 2]| check(method, fault, &said.each_ref().map(String::as_str));
        check("expired-certificate", told("certificate_expired", "certificate expired"));
        check("revoked-certificate", told("certificate_revoked", "certificate revoked"));
        check("unknown-ca", told("unknown_ca", "unknown authority"));
        check("wrong-name", told("bad_certificate", "wrong name"));
    }
}

#[test]
fn a_device_that_refuses_every_method_is_found_by_the_aaa_server() {
    let said = ["aaa found: EAP no acceptable method", "ue found: EAP no acceptable method"];
    for method in ["ikev2-eap-md5", "ikev2-eap-aka", "ikev2-eap-tls"] {
        check(method, "no-common-method", &said);
    }
}

#[test]
fn an_aaa_server_that_does_not_answer_is_found_by_the_gateway() {
    let said = ["gw found: RADIUS timeout", "ue was told: EAP Failure"];
    let discards = [
        ("radius-wrong-secret", Some("wrong Message-Authenticator")),
        ("radius-unknown-client", Some("unknown client")),
        ("aaa-silent", None),
    ];
    for (fault, why) in discards {
        check("ikev2-eap-md5", fault, &said);
        let run = run("ikev2-eap-md5", fault, "real");
        let found = run.discarded(Node::Aaa);
        assert!(found.iter().all(|found| Some(*found) == why), "{fault}: {found:?}");
        // RFC 5080 §2.2.1: sent five times at most, within 30 s; the warm-up is not on record.
        assert_eq!(found.is_empty(), why.is_none(), "{fault}");
        assert!((8..=10).contains(&run.sent(RADIUS)), "{fault}: {}", run.sent(RADIUS));
    }
}

#[test]
fn a_subscriber_database_that_is_down_or_does_not_know_the_subscriber_is_found_by_the_aaa_server() {
    for method in ["ikev2-eap-sim", "ikev2-eap-aka", "ikev2-eap-aka-prime"] {
        let told = "ue was told: EAP notification of failure";
        check(method, "hss-down", &["aaa found: EAP no authentication vectors", told]);
        check(method, "unknown-subscriber", &["aaa found: EAP unknown subscriber", told]);
    }
}

/// The arithmetic: AKA-Synchronization-Failure and a second challenge are one more EAP round trip, so two more messages in
/// IKE and two more in RADIUS.
#[test]
fn a_card_out_of_step_gets_in_after_one_resynchronisation_each_time() {
    for crypto in ["real", "null"] {
        for method in ["ikev2-eap-aka", "ikev2-eap-aka-prime"] {
            let case = format!("{method} {crypto}");
            let (usual, run) = (run(method, "none", crypto), run(method, "sqn-out-of-range", crypto));
            assert_eq!(run.said(), [""; 0], "{case}");
            assert_eq!((run.end.samples, run.end.failed), (SAMPLES, 0), "{case}");
            for protocol in [IKE, RADIUS] {
                let more = run.sent(protocol) - usual.sent(protocol);
                assert_eq!(more, 2 * SAMPLES as usize, "{case} {}", protocol.name());
            }
            run.check_nothing_is_held(&case);
        }
    }
}

/// Faults that are no wrong keys do not need cryptography, and are found all the same.
#[test]
fn null_crypto_finds_everything_but_wrong_keys() {
    for fault in Fault::ALL.into_iter().filter(|fault| fault.is_fatal() && !fault.is_wrong_key()) {
        let methods = ["ikev2-psk", "ikev2-eap-tls", "ikev2-eap-aka"];
        let concerned = |method: &&str| fault.concerns(Method::named(method).unwrap());
        let method = methods.into_iter().find(concerned).unwrap();
        let (real, null) = (run(method, fault.name(), "real"), run(method, fault.name(), "null"));
        assert_eq!(real.said(), null.said(), "{}", fault.name());
        assert_eq!(null.end.failed, SAMPLES, "{}", fault.name());
    }
}

/// Every fault has a method in this file's sense: none is in the catalogue and cannot happen.
#[test]
fn every_fault_concerns_a_method_and_the_scenario_has_it() {
    let plan = Source::builtin("failures").unwrap().plan(&Overrides::default()).unwrap();
    for fault in Fault::ALL {
        assert!(plan.rows.iter().any(|row| row.options.fault == Some(fault)), "{}", fault.name());
    }
}

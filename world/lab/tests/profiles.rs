//! Profiles: every step of every node, with the operations in it, and the same rows without cryptography beside them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use keytoll_lab::{Profile, Stop, Subject, blocks, profile};
use keytoll_scenario::{Overrides, Plan, Source};
use keytoll_trace::{Cost, Node, StepCost, Stimulus};

fn plan(method: &str, crypto: &str) -> Plan {
    let sets = [format!("methods={method}"), format!("crypto={crypto}"), "networks=loopback".to_owned()];
    Source::text("test", "").plan(&Overrides::parse(&sets).unwrap()).unwrap()
}

fn steps(profile: &Profile, node: Node) -> Vec<&StepCost> {
    let steps = profile.costs.iter().filter_map(|cost| match cost {
        Cost::Step(step) if step.node == node => Some(step),
        _ => None,
    });
    steps.collect()
}

/// What a step received and sent, and the operations between.
fn told(step: &StepCost) -> (String, Vec<String>, Vec<String>) {
    let received = match &step.stimulus {
        Stimulus::Message(message) => message.name.to_string(),
        Stimulus::Datagram(protocol) => protocol.name().to_owned(),
        Stimulus::Own => "-".to_owned(),
    };
    let operations = step.operations.iter().map(|operation| operation.operation.to_string());
    (received, step.sent.iter().map(|message| message.name.to_string()).collect(), operations.collect())
}

#[test]
fn the_gateway_of_a_shared_key_handshake_is_told_step_by_step() {
    let plan = plan("ikev2-psk", "real");
    let done = AtomicU32::new(0);
    let subject = Subject { plan: &plan, row: &plan.rows[0], timed: true };
    let count = || _ = done.fetch_add(1, Relaxed);
    let profiles = profile(&[subject], 2, &count, &mut |_| {}, &Stop::new(false)).unwrap();
    let [profile] = &profiles[..] else { panic!("one row") };
    assert_eq!((profile.samples, profile.failed, done.load(Relaxed)), (2, 0, 2));
    let steps = steps(profile, Node::Gw);
    let first: Vec<_> = steps.iter().filter(|step| step.sample == 0).map(|step| told(step)).collect();
    let [init, auth, echo] = &first[..] else { panic!("{first:?}") };
    assert_eq!((&*init.0, &init.1[..]), ("IKE_SA_INIT request", &["IKE_SA_INIT response".to_owned()][..]));
    assert!(init.2.contains(&"generate".to_owned()) && !init.2.contains(&"agree".to_owned()), "{init:?}");
    assert_eq!((&*auth.0, &auth.1[..]), ("IKE_AUTH request", &["IKE_AUTH response".to_owned()][..]));
    let place = |wanted: &str| auth.2.iter().position(|operation| operation == wanted).unwrap();
    assert!(place("agree") < place("decrypt") && place("decrypt") < place("encrypt"), "{auth:?}");
    assert_eq!(
        (&*echo.0, &echo.1[..], &echo.2[..]),
        ("esp", &[][..], &["decrypt", "encrypt"].map(str::to_owned)[..])
    );
    for step in steps {
        let operations: u64 = step.operations.iter().map(|operation| operation.ticks).sum();
        assert!(operations > 0 && operations < step.ticks, "{operations} of {} ticks", step.ticks);
    }
}

#[test]
fn rows_without_timed_operations_have_steps_alone_and_null_crypto_has_the_same_operations() {
    let (real, null) = (plan("ikev2-eap-md5", "real"), plan("ikev2-eap-md5", "null"));
    let of = |plan, timed| Subject { plan, row: &plan.rows[0], timed };
    let subjects = [of(&real, true), of(&real, false), of(&null, false), of(&null, true)];
    let profiles = profile(&subjects, 1, &|| {}, &mut |_| {}, &Stop::new(false)).unwrap();
    let [timed, full, skeleton, skeleton_timed] = &profiles[..] else { panic!("four rows") };
    for node in [Node::Ue, Node::Gw, Node::Aaa] {
        let untimed = |profile| steps(profile, node).iter().map(|step| told(step)).collect::<Vec<_>>();
        assert_eq!(untimed(timed), untimed(skeleton_timed), "the skeleton does what the full one does");
        assert_eq!(untimed(full), untimed(skeleton));
        assert_eq!(untimed(full).len(), untimed(timed).len());
        assert!(untimed(full).iter().all(|(_, _, operations)| operations.is_empty()));
        assert!(steps(full, node).iter().all(|step| step.ticks > 0));
    }
}

#[test]
fn a_stopped_profile_keeps_what_it_has() {
    let plan = plan("ikev2-psk", "null");
    let subject = Subject { plan: &plan, row: &plan.rows[0], timed: false };
    let profiles = profile(&[subject], 5, &|| {}, &mut |_| {}, &Stop::new(true)).unwrap();
    assert_eq!((profiles[0].samples, profiles[0].costs.len()), (0, 1), "nothing but the clocks");
}

#[test]
fn authentications_belong_to_blocks_between_which_something_else_can_run() {
    let plan = plan("ikev2-psk", "null");
    let subject = Subject { plan: &plan, row: &plan.rows[0], timed: false };
    let mut ended = Vec::new();
    let profiles =
        profile(&[subject; 2], 10, &|| {}, &mut |block| ended.push(block), &Stop::new(false)).unwrap();
    assert_eq!((ended, blocks(10)), (vec![0, 1, 2], 3));
    for profile in profiles {
        let blocks = profile.costs.iter().filter_map(|cost| match cost {
            Cost::Block(block) => Some((block.sample, block.block, block.reference_ns > 0)),
            _ => None,
        });
        let expected = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2];
        let expected: Vec<_> = (0..).zip(expected).map(|(sample, block)| (sample, block, true)).collect();
        assert_eq!(blocks.collect::<Vec<_>>(), expected);
    }
}

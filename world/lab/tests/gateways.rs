//! Populations with several gateways, and with one of them lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ops::RangeInclusive;

use keytoll_census::{Accounts, PopulationSummary};
use keytoll_scenario::parse;
use keytoll_scenario::population::GATEWAYS;

use crate::populations::{BEX, ends, one, repeatable};

/// What succeeded at each of so many gateways.
fn served(summary: &PopulationSummary, count: usize) -> Vec<u64> {
    let served = (1..=count).map(|number| summary.nodes[&format!("gw-{number}")].established.unwrap());
    served.collect()
}

fn assert_all_within(counts: &[u64], within: RangeInclusive<u64>) {
    assert!(counts.iter().all(|count| within.contains(count)), "{counts:?}");
}

#[test]
fn every_method_has_several_gateways_with_one_back_end() {
    for method in ["ikev2-psk", "ikev2-rsa2048", "ikev2-eap-aka", "ikev2-eap-tls", BEX, "hip-dex-aka"] {
        let population = "devices = 90\narrivals = 'storm 90 in 2 s'\ngateways = 3";
        let summary = one(&format!("methods = '{method}'"), population);
        assert_eq!((summary.established, summary.failed), (90, 0), "{method}: {summary:?}");
        let served = served(&summary, 3);
        assert_eq!(served.iter().sum::<u64>(), 90, "{method}");
        assert_all_within(&served, 15..=45);
        let names: Vec<_> = summary.nodes.keys().filter(|name| !name.starts_with("gw-")).collect();
        assert!(names.len() <= 2 && !summary.nodes.contains_key("gw"), "{names:?}");
        let behind = summary.links.iter().filter(|(name, _)| name.starts_with("gw-") && *name != "gw-ue");
        assert!(behind.clone().all(|(_, link)| link.links == 3), "{:?}", summary.links);
    }
}

/// The account is limited where it is read, for it may be somebody else's.
#[test]
fn what_the_most_gateways_did_can_be_read_again() {
    let population = format!("devices = 70\narrivals = 'storm 70 in 1 s'\ngateways = {}", GATEWAYS.end());
    let ends = ends("methods = 'ikev2-eap-aka'", &population, 1);
    let written = Accounts { rows: ends.into_iter().map(|end| Some(end.account)).collect() };
    let read = Accounts::parse(&serde_json::to_string(&written).unwrap()).unwrap();
    let nodes = |accounts: &Accounts| accounts.rows[0].as_ref().unwrap().points[0].nodes.len();
    assert_eq!((nodes(&read), nodes(&written)), (66, 66));
}

#[test]
fn in_ipv6_and_on_shared_links_they_are_shared_out_too() {
    let head = "methods = 'ikev2-eap-mschapv2'\n[options]\nipv6 = true";
    let summary =
        one(head, "devices = 200\narrivals = 'storm 200 in 2 s'\ngateways = 2\ndevices_per_link = 50");
    assert_eq!((summary.established, summary.links["ue-gw"].links), (200, 4));
    assert_all_within(&served(&summary, 2), 60..=140);
}

/// With stores that take no time and one core each, what one gateway does not do in time four do.
#[test]
fn four_gateways_do_what_is_too_much_for_one() {
    let of = |gateways: u32| {
        let text = format!(
            "crypto = 'table'\ncosts = 'reference'\nnetworks = 'lte'\nmethods = 'ikev2-rsa2048'\n[population]\n\
             devices = 3000\narrivals = 'constant 6000/s'\ngateways = {gateways}\n[options]\nhalf_open_max = 100000"
        );
        let plan = parse("population", &text).unwrap();
        let ends = keytoll_lab::populate(&plan, 1, &|| {}, &keytoll_lab::Stop::new(false)).unwrap();
        ends.into_iter().flatten().next().unwrap().account.summary
    };
    let [one, four] = [1, 4].map(of);
    assert_eq!((one.established, four.established), (3000, 3000));
    let busy = |name: &str| four.nodes[name].busy_s;
    let sum: f64 = (1..=4).map(|number| busy(&format!("gw-{number}"))).sum();
    let alone = one.nodes["gw"].busy_s;
    assert!((sum / alone - 1.0).abs() < 0.1, "{sum} {alone}");
    let [slow, fast] = [&one, &four].map(|summary| summary.delay_ms.unwrap().p99);
    assert!(slow > 3.0 * fast, "{slow} {fast}");
    let each = |summary: &PopulationSummary, name: &str| summary.nodes[name].busy_ns_per_established.unwrap();
    assert!((each(&four, "gw-1") / each(&one, "gw") - 1.0).abs() < 0.1);
}

#[test]
fn each_has_heap_for_its_devices() {
    let population = "devices = 2000\narrivals = 'storm 2000 in 20 s'\nduration = '30 s'\ngateways = 2";
    let summary = one("methods = 'ikev2-psk'\n[options]\nhalf_open_max = 10000", population);
    let each = ["gw-1", "gw-2"].map(|name| {
        let node = summary.nodes[name];
        node.heap_bytes.unwrap() as f64 / node.established.unwrap() as f64
    });
    // Both ends of an SA take 3.2 kB with what is between them.
    assert!(each.iter().all(|bytes| (800.0..4000.0).contains(bytes)), "{each:?}");
}

const LOSS: &str = "devices = 300\narrivals = 'storm 300 in 10 s'\ngateways = 3\ngateway_lost = '2 at 60 s'\n\
                    duration = '200 s'";

/// An answer is missed for the silence and three retransmissions, at 1, 2 and 4 s.
const IMPATIENT: &str =
    "methods = 'ikev2-psk'\n[options]\nretransmit_first = '1 s'\nretransmit_base = 2.0\nretransmit_tries = 2";

#[test]
fn devices_of_a_lost_gateway_notice_and_come_back_at_others() {
    let ends = ends(IMPATIENT, &format!("{LOSS}\nliveness = '20 s'"), 1);
    let (summary, points) = (&ends[0].account.summary, &ends[0].account.points);
    let loss = summary.loss.clone().unwrap();
    assert_eq!((&*loss.gateway, loss.at_s), ("gw-2", 60.0));
    let served = served(summary, 3);
    assert_eq!((loss.devices, loss.devices_back), (served[1], served[1]), "{summary:?}");
    assert_eq!((summary.failed, summary.established, summary.devices), (0, 300 + loss.devices, 300));
    // They came within 10 s and ask every 20 s, so the next time within 10 s of the loss; then come 7 s of retransmissions.
    let outage = loss.outage_ms.unwrap();
    assert!(outage.min > 6900.0 && outage.max < 17_600.0 && outage.max > 16_000.0, "{outage:?}");
    let present = |second: usize| points[second].present;
    assert_eq!((present(59), present(61), present(100)), (300, 300 - loss.devices, 300));
    let of_lost =
        |second: usize| points[second].nodes.iter().find(|node| node.node == "gw-2").unwrap().established;
    assert!((60..points.len()).all(|second| of_lost(second) == Some(0)));
}

/// RFC 3706 §5: in IKEv1 they ask with R-U-THERE.
#[test]
fn devices_of_ikev1_notice_a_lost_gateway_too() {
    for method in ["ikev1-main-psk", "ikev1-aggressive-rsa"] {
        let head = IMPATIENT.replace("ikev2-psk", method);
        let summary = one(&head, &format!("{LOSS}\nliveness = '20 s'"));
        let loss = summary.loss.clone().unwrap();
        assert!(loss.devices > 60 && loss.devices == loss.devices_back, "{method}: {summary:?}");
        assert_eq!((summary.failed, summary.present_max), (0, 300), "{method}: {summary:?}");
        let outage = loss.outage_ms.unwrap();
        assert!(outage.min > 6900.0 && outage.max < 40_000.0, "{method}: {outage:?}");
    }
}

#[test]
fn who_does_not_ask_comes_back_when_it_authenticates_anew() {
    let summary = one(IMPATIENT, &format!("{LOSS}\nreauthenticate = '50 s'"));
    let loss = summary.loss.clone().unwrap();
    assert_eq!((loss.devices, summary.failed), (loss.devices_back, 0), "{summary:?}");
    // Within ten seconds, and every fifty seconds: the last of them just at the loss, and all at 100 to 110 s.
    let outage = loss.outage_ms.unwrap();
    assert!((40_000.0..50_000.0).contains(&outage.p50) && outage.max < 51_000.0, "{outage:?}");
    // Four times each: who is back does not begin twice as often.
    assert_eq!(summary.established, 300 * 4, "{summary:?}");
    assert_eq!(summary.present_max, 300);
}

#[test]
fn on_a_shared_link_the_rest_goes_on_when_a_gateway_is_lost() {
    let summary = one(IMPATIENT, &format!("{LOSS}\nliveness = '20 s'\ndevices_per_link = 100"));
    let loss = summary.loss.clone().unwrap();
    assert_eq!((loss.devices, summary.failed), (loss.devices_back, 0), "{summary:?}");
}

#[test]
fn the_same_seed_gives_the_same_account_with_several_gateways_on_one_thread_and_two() {
    let head = "methods = ['ikev2-psk', 'ikev2-eap-aka']";
    let population = "devices = 150\narrivals = 'poisson 40/s'\nstay = 'exponential 30 s'\nmoves = '15 s'\ngateways = 4\n\
                      liveness = '5 s'\ngateway_lost = '1 at 10 s'\nduration = '300 s'";
    let one = repeatable(head, population, 1);
    assert_eq!(one, repeatable(head, population, 2));
    assert!(one.iter().all(|end| end.account.summary.loss.is_some()));
}

#[test]
fn devices_that_cannot_notice_a_loss_are_refused_one() {
    for key in [
        "liveness = '5 s'",
        "gateways = 2\ngateway_lost = '1 at 5 s'\nreauthenticate = '5 s'\nduration = '9 s'",
    ] {
        let text = format!(
            "crypto = 'null'\nnetworks = 'lte'\nmethods = 'hip-dex'\n[population]\ndevices = 5\narrivals = '1 at a time'\n{key}"
        );
        let refused = keytoll_lab::refuse(&parse("population", &text).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("its devices never ask whether"), "{refused}");
    }
}

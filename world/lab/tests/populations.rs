//! Populations in the simulator: what arrives is established, fails or is under way, whatever the methods and however it is repeated.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicU64, Ordering};

use keytoll_census::PopulationSummary;
use keytoll_lab::{PopulationEnd, Stop, populate, rehearse_memory, steps};
use keytoll_scenario::parse;

/// The populations of a scenario.
pub(crate) fn ends(head: &str, population: &str, threads: usize) -> Vec<PopulationEnd> {
    let networks = if head.contains("networks") { "" } else { "networks = 'lte'\n" };
    let text = format!("crypto = 'null'\n{networks}{head}\n[population]\n{population}");
    let plan = parse("population", &text).unwrap();
    let progressed = AtomicU64::new(0);
    let progress = || {
        progressed.fetch_add(1, Ordering::Relaxed);
    };
    let ends = populate(&plan, threads, &progress, &Stop::new(false)).unwrap();
    let ends: Vec<_> = ends.into_iter().map(Option::unwrap).collect();
    assert!(ends.iter().all(|end| end.is_whole));
    let devices: u64 = ends.iter().map(|end| end.account.summary.devices).sum();
    let way = steps(&plan).unwrap();
    let steps = if way.of == "simulated seconds" { way.count } else { devices };
    assert_eq!(progressed.into_inner(), steps, "{way:?}");
    for PopulationEnd { account, .. } in &ends {
        let PopulationSummary { offered, established, failed, in_flight, .. } = account.summary;
        assert_eq!(offered, established + failed + in_flight);
        assert_eq!(account.points.iter().map(|point| point.offered).sum::<u64>(), offered);
    }
    ends
}

/// What of the populations of a scenario is the same in every run: all but heap, where tables grow as random keys have it.
pub(crate) fn repeatable(head: &str, population: &str, threads: usize) -> Vec<PopulationEnd> {
    let mut ends = ends(head, population, threads);
    for PopulationEnd { account, heap_bytes, .. } in &mut ends {
        *heap_bytes = None;
        account.summary.bytes_per_device = None;
        account.summary.nodes.values_mut().for_each(|node| node.heap_bytes = None);
    }
    ends
}

pub(crate) fn one(head: &str, population: &str) -> PopulationSummary {
    let mut ends = ends(head, population, 1);
    assert_eq!(ends.len(), 1);
    ends.remove(0).account.summary
}

/// With RSA it would take longer to make the Host Identities than to run the exchanges, so that is refused.
pub(crate) const BEX: &str = "hip-bex'\n[options]\nhost_identity = 'ed25519";

/// Main and aggressive mode, with shared keys and signatures.
const IKEV1: [&str; 4] = ["ikev1-main-psk", "ikev1-main-rsa", "ikev1-aggressive-psk", "ikev1-aggressive-rsa"];

#[test]
fn everybody_of_every_method_is_established_once() {
    for method in [
        "ikev2-psk",
        "ikev2-rsa2048",
        "ikev2-eap-md5",
        "ikev2-eap-mschapv2",
        "ikev2-eap-sim",
        "ikev2-eap-aka",
        "ikev2-eap-aka-prime",
        "ikev2-eap-tls",
        "ikev2-eap-ttls-md5",
        "ikev2-eap-peap-mschapv2",
        BEX,
        "hip-dex",
        "hip-dex-aka",
    ]
    .into_iter()
    .chain(IKEV1)
    {
        let summary = one(&format!("methods = '{method}'"), "devices = 40\narrivals = 'storm 40 in 2 s'");
        let counts = (summary.devices, summary.established, summary.failed);
        assert_eq!(counts, (40, 40, 0), "{method}: {summary:?}");
        assert_eq!(summary.present_max, 40, "{method}");
    }
}

#[test]
fn hosts_have_identities_of_their_own_and_strangers_none_that_is_known() {
    for method in [BEX, "hip-dex", "hip-dex-aka"] {
        for crypto in ["null", "real"] {
            let plan = parse(
                "population",
                &format!(
                    "crypto = '{crypto}'\nnetworks = 'lte'\nmethods = '{method}'\n[population]\ndevices = 60\narrivals = 'constant 20/s'\n\
                     wrong = '30 %'"
                ),
            );
            let ends = populate(&plan.unwrap(), 1, &|| {}, &Stop::new(false)).unwrap();
            let summary = &ends[0].as_ref().unwrap().account.summary;
            assert!((8..30).contains(&summary.failed), "{method}: {summary:?}");
            assert_eq!(summary.established + summary.failed, 60, "{method} {crypto}");
        }
    }
}

#[test]
fn one_gateway_of_hip_has_one_exchange_and_no_rsa() {
    let refused = |head: &str, more: &str| {
        let text = format!(
            "crypto = 'null'\nnetworks = 'lte'\n{head}\n[population]\ndevices = 5\narrivals = '1 at a time'\n{more}"
        );
        parse("population", &text).unwrap_err().to_string()
    };
    assert!(refused("methods = 'hip-bex'", "").contains("RSA keys take long to make"));
    let mix = refused("methods = ['hip-dex', 'hip-dex-aka']", "mix = { hip-dex = 1, hip-dex-aka = 1 }");
    assert!(mix.contains("a gateway of HIP has one exchange for everybody"), "{mix}");
    let other = refused("methods = ['hip-dex', 'ikev2-psk']", "mix = { hip-dex = 1, ikev2-psk = 1 }");
    assert!(other.contains("of two families"), "{other}");
}

#[test]
fn strangers_fail_with_every_method_and_nobody_else() {
    let methods = ["ikev2-psk", "ikev2-rsa2048", "ikev2-eap-mschapv2", "ikev2-eap-aka", "ikev2-eap-tls"];
    for method in methods.into_iter().chain(IKEV1) {
        let summary =
            one(&format!("methods = '{method}'"), "devices = 60\narrivals = 'constant 20/s'\nwrong = '30 %'");
        assert!((8..30).contains(&summary.failed), "{method}: {summary:?}");
        assert_eq!(summary.established + summary.failed, 60, "{method}");
        assert_eq!(summary.failures.values().sum::<u64>(), summary.failed);
    }
}

#[test]
fn a_mix_is_one_world_with_a_row_for_each_share() {
    let head = "methods = ['ikev2-psk', 'ikev2-eap-aka', 'ikev2-eap-tls']";
    let mix = "mix = { ikev2-psk = 2, ikev2-eap-aka = 1, ikev2-eap-tls = 1 }";
    let ends = ends(head, &format!("devices = 200\narrivals = 'poisson 50/s'\n{mix}"), 1);
    let devices: Vec<_> = ends.iter().map(|end| end.account.summary.devices).collect();
    assert_eq!(devices.iter().sum::<u64>(), 200);
    assert!((70..130).contains(&devices[0]), "{devices:?}");
    assert!(ends.iter().all(|end| end.account.summary.failed == 0), "{ends:?}");
    let mut nodes = ends.iter().flat_map(|end| end.account.summary.nodes.values());
    assert!(nodes.all(|node| node.busy_ns_per_established.is_none()), "they serve all shares");
}

#[test]
fn devices_authenticate_anew_move_and_leave() {
    let again = one(
        "methods = 'ikev2-eap-aka'",
        "devices = 20\narrivals = 'storm 20 in 1 s'\nreauthenticate = '60 s'\nduration = '250 s'",
    );
    assert_eq!((again.devices, again.offered, again.established), (20, 100, 100), "{again:?}");
    assert_eq!(again.present_max, 20);
    let left = one(
        "methods = 'ikev2-psk'",
        "devices = 20\narrivals = 'storm 20 in 1 s'\nstay = 'uniform 10 s to 20 s'\nduration = '60 s'",
    );
    assert_eq!((left.established, left.present_max), (20, 20), "{left:?}");
    let moved = one(
        "methods = 'ikev2-psk'",
        "devices = 20\narrivals = 'storm 20 in 1 s'\nmoves = '30 s'\nduration = '100 s'",
    );
    assert_eq!((moved.established, moved.failed, moved.present_max), (80, 0, 20), "{moved:?}");
}

/// RFC 2409 §5.4: in main mode the gateway knows a device with a shared key by its address, which changes as it moves.
#[test]
fn devices_of_ikev1_authenticate_anew_move_and_leave() {
    for method in IKEV1 {
        let head = format!("methods = '{method}'");
        let of = |more: &str| one(&head, &format!("devices = 20\narrivals = 'storm 20 in 1 s'\n{more}"));
        let again = of("reauthenticate = '60 s'\nduration = '250 s'");
        assert_eq!((again.established, again.failed, again.present_max), (100, 0, 20), "{method}: {again:?}");
        let moved = of("moves = '30 s'\nduration = '100 s'");
        assert_eq!((moved.established, moved.failed, moved.present_max), (80, 0, 20), "{method}: {moved:?}");
        let population = "devices = 20\narrivals = 'storm 20 in 1 s'\nstay = '3 min'\nduration = '5 min'";
        let points = ends(&head, population, 1).remove(0).account.points;
        assert_eq!([100, 299].map(|second| points[second].present), [20, 0], "{method}");
    }
}

/// An association of HIP that carries nothing is closed after `unused_after`, but in a population devices stay as `stay` says.
#[test]
fn hosts_of_hip_stay_authenticate_anew_move_and_leave() {
    for method in [BEX, "hip-dex", "hip-dex-aka"] {
        let head = format!("methods = '{method}'");
        let of = |more: &str| {
            ends(&head, &format!("devices = 20\narrivals = 'storm 20 in 1 s'\n{more}"), 1).remove(0).account
        };
        let again = of("reauthenticate = '60 s'\nduration = '250 s'");
        let counts = (again.summary.offered, again.summary.established, again.summary.present_max);
        assert_eq!(counts, (100, 100, 20), "{method}: {:?}", again.summary);
        assert!([50, 110, 230].iter().all(|&second| again.points[second].present == 20), "{method}");
        let moved = of("moves = '30 s'\nduration = '100 s'").summary;
        assert_eq!((moved.established, moved.failed, moved.present_max), (80, 0, 20), "{method}: {moved:?}");
        let points = of("stay = '3 min'\nduration = '5 min'").points;
        assert_eq!([100, 170, 299].map(|second| points[second].present), [20, 20, 0], "{method}");
    }
}

/// With 30 % of packets lost some attempts fail. Whoever has lost its association by that has another one later.
#[test]
fn a_host_of_hip_that_could_not_authenticate_anew_tries_again() {
    let head = "methods = 'hip-dex'\n[options]\nhip_retransmit_first = '200 ms'\nhip_retransmit_tries = 1\n\
                [[networks]]\nname = 'lossy'\nbase = 'lte'\nloss = '30 %'";
    let population =
        "devices = 60\narrivals = 'storm 60 in 1 s'\nreauthenticate = '10 s'\nduration = '300 s'";
    let again = one(head, population);
    assert!(again.established > 300 && again.failed > 200, "{again:?}");
}

/// One access point for all; those with EAP are judged by the AAA server, or inside.
const STATIONS: [&str; 9] = [
    "wlan-open",
    "wep-shared-key",
    "dot1x-eap-tls",
    "wpa2-psk",
    "wpa3-sae",
    "wpa2-eap-aka",
    "wpa2-eap-ttls-mschapv2",
    "wpa3-eap-tls",
    "wpa3-eap-peap-mschapv2'\n[options]\neap_server = 'access-point",
];

#[test]
fn stations_of_every_method_stay_authenticate_anew_and_leave() {
    for method in STATIONS {
        let head = format!("networks = 'wlan-11g'\nmethods = '{method}'");
        let of = |more: &str| {
            let population = format!("devices = 20\narrivals = 'storm 20 in 1 s'\n{more}");
            ends(&head, &population, 1).remove(0).account
        };
        let again = of("reauthenticate = '60 s'\nduration = '250 s'");
        let counts = (again.summary.offered, again.summary.established, again.summary.present_max);
        assert_eq!(counts, (100, 100, 20), "{method}: {:?}", again.summary);
        assert!([50, 110, 230].iter().all(|&second| again.points[second].present == 20), "{method}");
        // Longer than an access point waits for a silent station that nobody knows to stay.
        let points = of("stay = '7 min'\nduration = '8 min'").points;
        assert_eq!([100, 400, 479].map(|second| points[second].present), [20, 20, 0], "{method}");
    }
}

#[test]
fn stations_with_wrong_credentials_fail_and_nobody_else() {
    for method in ["wpa2-eap-aka", "wpa2-eap-ttls-mschapv2", "wpa3-eap-tls"] {
        for crypto in ["null", "real"] {
            let text = format!(
                "crypto = '{crypto}'\nnetworks = 'wlan-11g'\nmethods = '{method}'\n[population]\ndevices = 60\n\
                 arrivals = 'constant 20/s'\nwrong = '30 %'"
            );
            let plan = parse("population", &text).unwrap();
            let ends = populate(&plan, 1, &|| {}, &Stop::new(false)).unwrap();
            let summary = &ends[0].as_ref().unwrap().account.summary;
            assert!((8..30).contains(&summary.failed), "{method} {crypto}: {summary:?}");
            assert_eq!(summary.established + summary.failed, 60, "{method} {crypto}");
        }
    }
}

/// 802.11-2020 §9.4.1.8: an access point has numbers for 2007 stations. Others have their turn when some have left.
#[test]
fn an_access_point_admits_2007_stations() {
    let of = |stay: &str| {
        let population =
            format!("devices = 2100\narrivals = 'constant 100/s'\nstay = '{stay}'\nduration = '30 s'");
        one("networks = 'wlan-11g'\nmethods = 'wpa2-psk'", &population)
    };
    let (full, relieved) = (of("29 s"), of("10 s"));
    assert_eq!((full.established, full.failed, full.present_max), (2007, 93, 2007), "{full:?}");
    assert_eq!((relieved.established, relieved.failed), (2100, 0), "{relieved:?}");
}

#[test]
fn what_no_population_of_stations_has_is_refused() {
    let refused = |head: &str, more: &str| {
        let text = format!(
            "crypto = 'null'\nnetworks = 'wlan-11g'\n{head}\n[population]\narrivals = '1 at a time'\n{more}{}",
            if more.contains("devices =") { "" } else { "\ndevices = 5" }
        );
        parse("population", &text).unwrap_err().to_string()
    };
    let psk = "methods = 'wpa2-psk'";
    for (head, more, why) in [
        ("methods = 'rrkm'", "", "keys of RRKM"),
        ("methods = 'wpa2-psk'\n[options]\nroam_after = '3 s'", "", "whatever `roam_after` is"),
        (psk, "gateways = 2", "one access point"),
        (psk, "devices = 2008", "numbers for 2007 stations"),
        (psk, "devices_per_link = 2", "by broadcast"),
        (psk, "wrong = '1 %'", "all stations have one key"),
        (psk, "moves = '1 min'\nduration = '5 min'", "is not told who"),
        ("methods = ['wpa2-psk', 'wpa3-sae']", "mix = { wpa2-psk = 1, wpa3-sae = 1 }", "one way to admit"),
    ] {
        let said = refused(head, more);
        assert!(said.contains(why), "{head} {more}: {said}");
    }
}

/// A plan whose seed gives a method no device is refused, and any other has devices of every method.
#[test]
fn every_method_of_a_mix_has_a_device() {
    let plan = |seed: u32| {
        let text = format!(
            "seed = {seed}\ncrypto = 'null'\nnetworks = 'loopback'\nmethods = ['ikev2-psk', 'ikev1-main-psk']\n[population]\n\
             devices = 6\narrivals = '6 at a time'\nmix = {{ ikev2-psk = 1, ikev1-main-psk = 6 }}"
        );
        parse("population", &text)
    };
    let plans: Vec<_> = (1..=12).map(plan).collect();
    assert!((1..12).contains(&plans.iter().flatten().count()));
    for plan in plans.iter().flatten() {
        let ends = populate(plan, 1, &|| {}, &Stop::new(false)).unwrap();
        assert!(ends.iter().flatten().all(|end| end.account.summary.devices > 0), "seed {}", plan.seed);
    }
}

#[test]
fn both_versions_of_ike_share_a_gateway() {
    let head = "methods = ['ikev1-main-psk', 'ikev1-aggressive-rsa', 'ikev2-psk', 'ikev2-eap-aka']";
    let mix = "mix = { ikev1-main-psk = 1, ikev1-aggressive-rsa = 1, ikev2-psk = 1, ikev2-eap-aka = 1 }";
    let ends = ends(head, &format!("devices = 200\narrivals = 'poisson 50/s'\n{mix}"), 1);
    for PopulationEnd { account, .. } in &ends {
        assert!(account.summary.devices > 20 && account.summary.failed == 0, "{:?}", account.summary);
    }
}

#[test]
fn who_could_not_authenticate_anew_tries_again_after_the_same_time() {
    // Almost every third packet is lost, and a request is repeated once: about half of all attempts fail, thirty in five minutes.
    let head = "methods = 'ikev2-psk'\n[options]\nretransmit_first = '200 ms'\nretransmit_tries = 1\n\
                [[networks]]\nname = 'lossy'\nbase = 'lte'\nloss = '30 %'";
    let again =
        one(head, "devices = 60\narrivals = 'storm 60 in 1 s'\nreauthenticate = '10 s'\nduration = '300 s'");
    assert!(again.established > 300 && again.failed > 200, "{again:?}");
}

/// What a device adds that is there and does nothing, at both ends and in the world between them.
#[test]
fn a_device_that_stands_takes_less_than_four_kilobytes() {
    let bytes = |devices: u32| {
        let population =
            format!("devices = {devices}\narrivals = 'storm {devices} in 30 s'\nduration = '40 s'");
        let summary = one("methods = 'ikev2-psk'\n[options]\nhalf_open_max = 10000", &population);
        assert_eq!((summary.established, summary.present_max), (devices.into(), devices.into()));
        summary.bytes_per_device.unwrap() * f64::from(devices)
    };
    // Those that were awake last are in both.
    let of_one = (bytes(4000) - bytes(2000)) / 2000.0;
    assert!((1500.0..4096.0).contains(&of_one), "{of_one} bytes");
}

/// What is foretold of a population's heap is what it takes, whatever its methods and however many gateways it has.
#[test]
fn the_memory_of_populations_is_foretold() {
    const DEVICES: u32 = 3000;
    let methods = ["ikev2-psk", "ikev2-rsa2048", "ikev2-eap-aka", "ikev2-eap-tls", "ikev1-main-psk"];
    let methods = methods.into_iter().chain([BEX, "hip-dex", "hip-dex-aka"]);
    let cases = methods.map(|method| (method, 1)).chain([("ikev2-psk", 32), ("hip-dex-aka", 8)]);
    for (method, gateways) in cases {
        let head = format!("crypto = 'null'\nnetworks = 'lte'\nmethods = '{method}'");
        let population =
            format!("devices = {DEVICES}\narrivals = 'storm {DEVICES} in 30 s'\ngateways = {gateways}");
        let plan =
            parse("population", &format!("{head}\n[population]\n{population}\nduration = '40 s'")).unwrap();
        let room = rehearse_memory(&plan, 1).unwrap();
        let end = populate(&plan, 1, &|| {}, &Stop::new(false)).unwrap().remove(0).unwrap();
        assert_eq!(end.account.summary.present_max, u64::from(DEVICES), "{method}");
        let took = end.heap_bytes.unwrap() as f64;
        let foretold = room.heap_bytes / took;
        println!("{method} {gateways}: {foretold:.3} of {took}");
        assert!((0.8..1.25).contains(&foretold), "{method}, {gateways}: {room:?}, and it took {took}");
    }
}

#[test]
fn the_present_are_counted_until_they_leave() {
    let ends = ends(
        "methods = 'ikev2-psk'",
        "devices = 20\narrivals = 'storm 20 in 1 s'\nstay = 'uniform 10 s to 20 s'\nduration = '60 s'",
        1,
    );
    let present = |second: usize| ends[0].account.points.get(second).map(|point| point.present);
    assert_eq!((present(5), ends[0].account.points.last().unwrap().present), (Some(20), 0));
}

#[test]
fn a_closed_loop_has_so_many_under_way_and_no_more() {
    let ends = ends("methods = 'ikev2-psk'", "devices = 50\narrivals = '5 at a time'", 1);
    let summary = &ends[0].account.summary;
    assert_eq!((summary.established, summary.in_flight), (50, 0));
    assert!(summary.in_flight_max <= 5 && summary.duration_s > 0.5, "{summary:?}");
    // The next one begins when one has its outcome, and not at the end of a second.
    let open = one("methods = 'ikev2-psk'", "devices = 50\narrivals = 'constant 5/s'").delay_ms.unwrap();
    let closed = summary.delay_ms.unwrap();
    assert!(closed.p50 < 1.5 * open.p50 && summary.duration_s < 15.0 * closed.mean / 1e3, "{summary:?}");
}

#[test]
fn cookies_are_a_round_trip_more_for_whoever_is_asked() {
    let of = |cookies: &str| {
        let head = format!("methods = 'ikev2-psk'\n[options]\ncookies = '{cookies}'");
        one(&head, "devices = 50\narrivals = 'storm 50 in 5 s'")
    };
    let [never, always] = ["never", "always"].map(of);
    assert_eq!(never.cookies, None);
    let cookies = always.cookies.unwrap();
    assert_eq!((cookies.messages, cookies.repeated, cookies.share_of_begun), (50, 50, 1.0));
    assert_eq!((always.messages.sent, always.discards), (never.messages.sent + 100, never.discards));
    // LTE takes some 50 ms there and back.
    let [without, with] = [&never, &always].map(|summary| summary.delay_ms.unwrap().p50);
    assert!(with > without + 30.0, "{with} {without}");
}

/// Beyond an eighth of the table of half-open SAs only who asks later is asked for a cookie.
#[test]
fn a_gateway_under_load_asks_some_for_cookies() {
    let head = "methods = 'ikev2-eap-aka'\n[options]\nhalf_open_max = 160";
    let ends = ends(head, "devices = 100\narrivals = 'storm 100 in 200 ms'", 1);
    let (summary, points) = (&ends[0].account.summary, &ends[0].account.points);
    let cookies = summary.cookies.unwrap();
    assert!((20..100).contains(&cookies.repeated) && cookies.messages >= cookies.repeated, "{cookies:?}");
    assert_eq!(points.iter().map(|point| point.cookies_asked).sum::<u64>(), cookies.messages);
    assert_eq!(points.iter().map(|point| point.cookies_shown).sum::<u64>(), cookies.repeated);
}

#[test]
fn links_tell_how_much_of_them_is_used() {
    let of = |more: &str| {
        one("methods = 'ikev2-eap-aka'", &format!("devices = 40\narrivals = 'storm 40 in 1 s'{more}"))
    };
    let (alone, shared) = (of(""), of("\ndevices_per_link = 20"));
    let [up, both] = [&alone, &shared].map(|summary| summary.links["ue-gw"]);
    assert_eq!((up.links, both.links), (40, 2));
    assert!(up.bytes > 40 * 1000 && up.bytes == both.bytes && up.transit_max_ms > 15.0, "{up:?} {both:?}");
    assert!(both.utilisation_max.unwrap() > 10.0 * up.utilisation_max.unwrap(), "{up:?} {both:?}");
    assert!(alone.links["hss-aaa"].bytes > 0 || alone.links["aaa-hss"].bytes > 0, "{:?}", alone.links);
}

#[test]
fn a_shared_link_and_a_slow_store_take_longer() {
    let base = "devices = 60\narrivals = 'storm 60 in 1 s'";
    let p99 = |more: &str| {
        let head = "methods = 'ikev2-eap-aka'\n";
        one(head, &format!("{base}\n{more}")).delay_ms.unwrap().p99
    };
    let alone = p99("");
    let shared = p99("devices_per_link = 60");
    let stored = p99("hss_store = '50 ms'");
    assert!(shared > alone + 5.0, "{shared} {alone}");
    // Sixty look-ups of 50 ms, one after the other, take three seconds.
    assert!(stored > 1500.0 && alone < 1000.0, "{stored} {alone}");
    let head = "methods = 'ikev2-eap-aka'\noptions = { hss_store = '50 ms' }\n";
    let by_option = one(head, base).delay_ms.unwrap().p99;
    assert!(by_option > 1500.0, "{by_option}: the option is for populations, too");
}

#[test]
fn more_cores_drain_a_queue_faster() {
    let of = |cores: u32| {
        let head =
            format!("methods = 'ikev2-eap-aka'\ncpus = {{ hss = {{ name = 'host', cores = {cores} }} }}\n");
        one(&head, "devices = 60\narrivals = 'storm 60 in 1 s'\nhss_store = '50 ms'")
    };
    let [one, four] = [1, 4].map(of);
    assert!(one.nodes["hss"].queue_max > four.nodes["hss"].queue_max, "{one:?} {four:?}");
    assert!(one.nodes["hss"].utilisation_max > 0.95, "{:?}", one.nodes);
}

/// Pollaczek and Khinchine: with Poisson arrivals and constant service s at utilisation ρ the mean number waiting is ρ²/2(1-ρ).
#[test]
fn a_store_of_constant_time_queues_as_an_m_d_1_system_does() {
    let end = ends(
        "methods = 'ikev2-eap-aka'\n",
        "devices = 9000\narrivals = 'poisson 70/s'\nhss_store = '10 ms'",
        1,
    );
    let points = &end[0].account.points;
    let of = |get: fn(&keytoll_census::NodePoint) -> f64| {
        let busy: Vec<_> = points[20..120]
            .iter()
            .map(|point| get(point.nodes.iter().find(|node| node.node == "hss").unwrap()))
            .collect();
        busy.iter().sum::<f64>() / busy.len() as f64
    };
    let (rho, waiting) = (of(|node| node.utilisation), of(|node| node.queue_mean));
    let expected = rho * rho / (2.0 * (1.0 - rho));
    assert!((rho - 0.7).abs() < 0.03, "{rho}");
    assert!((waiting / expected - 1.0).abs() < 0.2, "{waiting} {expected}");
}

#[test]
fn the_same_seed_gives_the_same_account_on_one_thread_and_two() {
    let head = "methods = ['ikev2-psk', 'ikev2-eap-mschapv2']";
    let population = "devices = 100\narrivals = 'poisson 40/s'\nwrong = '10 %'\nstay = 'exponential 5 s'\n\
                      reauthenticate = '4 s'\nduration = '20 s'";
    assert_eq!(repeatable(head, population, 1), repeatable(head, population, 2));
}

#[test]
fn an_interruption_leaves_what_has_happened() {
    let text = "crypto = 'null'\nmethods = 'ikev2-psk'\nnetworks = 'lte'\n[population]\ndevices = 1000\narrivals = 'constant 10/s'";
    let plan = parse("population", text).unwrap();
    let (stop, settled) = (Stop::new(false), AtomicU64::new(0));
    let progress = || {
        if settled.fetch_add(1, Ordering::Relaxed) == 100 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let ends = populate(&plan, 1, &progress, &stop).unwrap();
    let end = ends[0].as_ref().unwrap();
    assert!(!end.is_whole && (101..110).contains(&end.account.summary.devices), "{:?}", end.account.summary);
}

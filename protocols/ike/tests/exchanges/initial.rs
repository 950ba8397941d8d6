//! IKE_SA_INIT and IKE_AUTH with shared keys: cookies, groups, retransmissions, children or none, addresses.

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_ike::config::{Believe, Mode, Prove};
use keytoll_ike::{Command, Event};

use crate::support::lab::{self, Pki, both, esp, ike, net, only, only_child, psk, secret};
use crate::support::{Bench, Side, check};

#[test]
fn a_shared_key_takes_four_messages() {
    let bench = Bench::new(psk()).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

#[test]
fn a_draining_responder_refuses_new_sas_but_serves_existing_ones() {
    let mut bench = Bench::new(psk()).established();
    bench.command(Side::R, Command::Drain);
    assert_eq!(bench.r.endpoint.closing_count(), 0);
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::RekeyIke(sa));
    bench.settle();
    assert_eq!(bench.r.books.sa_count(), 1, "{}", bench.ladder);
    bench.initiate();
    bench.run_out(lab::seconds(300));
    assert_eq!(bench.failures(Side::I), ["timeout"]);
    assert_eq!(bench.r.books.sa_count(), 1, "{}", bench.ladder);
    let sa = bench.sa(Side::R);
    bench.command(Side::R, Command::Delete(sa));
    assert_eq!(bench.r.endpoint.closing_count(), 1, "the answer is awaited");
    bench.settle();
    assert_eq!(bench.r.endpoint.closing_count(), 0);
}

#[test]
fn a_cookie_costs_two_more() {
    let (i, mut r) = psk();
    r.half_open.cookies_from = 0;
    let bench = Bench::new((i, r)).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  N
        i -> r  IKE_SA_INIT request  N SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

#[test]
fn the_wrong_group_costs_two_more() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519 aes128gcm16-prfsha256-ecp256");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-ecp256");
    let bench = Bench::new((i, r)).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r  discards: INVALID_KE_PAYLOAD
        r -> i  IKE_SA_INIT response  N
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

/// Everything that can make an initiator repeat IKE_SA_INIT, and every answer twice.
#[test]
fn duplicated_requests_to_repeat_are_obeyed_once() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519 aes128gcm16-prfsha256-ecp256");
    only(&mut r).suites = ike("aes128gcm16-prfsha256-ecp256");
    r.half_open.cookies_from = 0;
    let mut bench = Bench::new((i, r));
    for n in 1..=20 {
        bench = bench.duplicate(n);
    }
    let bench = bench.established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N  twice
        r -> i  IKE_SA_INIT response  N  twice
        r -> i  IKE_SA_INIT response  N  twice
        i -> r  IKE_SA_INIT request  N SA KE Nonce N N N N  twice
        i  discards: repeated refusal
        i  discards: repeated refusal
        i  discards: repeated refusal
        r  discards: INVALID_KE_PAYLOAD
        r -> i  IKE_SA_INIT response  N  twice
        r  discards: INVALID_KE_PAYLOAD
        r -> i  IKE_SA_INIT response  N  twice
        i -> r  IKE_SA_INIT request  N SA KE Nonce N N N N  twice
        i  discards: repeated refusal
        i  discards: repeated refusal
        i  discards: repeated refusal
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N  twice
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N  again  twice
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr  twice
        i  discards: response to nothing
        i  discards: response to nothing
        i  discards: response to nothing
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr  twice
        r  established with device.example.org
        r  child up: aes128gcm16
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr  again  twice
        i  established with gw.example.org
        i  child up: aes128gcm16
        i  discards: response to nothing
        i  discards: response to nothing
        i  discards: response to nothing
    ",
    );
    bench.assert_agreement();
}

#[test]
fn a_lost_request_is_retransmitted() {
    let mut bench = Bench::new(psk()).lose(1);
    bench.initiate();
    bench.run_for(lab::seconds(20));
    check(
        &bench,
        "
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  lost
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N  again
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

#[test]
fn a_lost_response_is_retransmitted_from_memory() {
    let mut bench = Bench::new(psk()).lose(2).lose(6);
    bench.initiate();
    bench.run_for(lab::seconds(20));
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r x> i  IKE_SA_INIT response  SA KE Nonce N N N N  lost
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N  again
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N  again
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r x> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr  lost
        r  established with device.example.org
        r  child up: aes128gcm16
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr  again
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr  again
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
}

#[test]
fn nobody_answers() {
    let mut bench = Bench::new(psk());
    bench.cut.insert(Side::I, true);
    bench.initiate();
    bench.assert_nothing_remains();
    check(
        &bench,
        "
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  lost
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  again  lost
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  again  lost
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  again  lost
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  again  lost
        i x> r  IKE_SA_INIT request  SA KE Nonce N N N N  again  lost
        i  failed: timeout
    ",
    );
    assert_eq!(bench.failures(Side::I), ["timeout"]);
}

#[test]
fn a_responder_drops_initiators_that_do_not_continue() {
    let mut bench = Bench::new(psk());
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    bench.deliver(Side::R, &request);
    bench.cut.insert(Side::I, true);
    assert_eq!((bench.r.endpoint.sa_count(), bench.r.endpoint.half_open_count()), (1, 1));
    bench.assert_nothing_remains();
    assert_eq!(bench.failures(Side::R), [""; 0], "the owner of a responder hears nothing of passers-by");
}

#[test]
fn without_a_child() {
    let configs = both(psk(), |connection| connection.child = None);
    let bench = Bench::new(configs).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH
        r -> i  IKE_AUTH response  SK IDr AUTH
        r  established with device.example.org
        i  established with gw.example.org
    ",
    );
    assert_eq!((bench.i.endpoint.sa_count(), bench.r.endpoint.sa_count()), (1, 1));
}

#[test]
fn childless_only_if_the_responder_supports_it() {
    let (mut i, r) = psk();
    only(&mut i).child = None;
    let mut bench = Bench::new((i, r)).established();
    bench.assert_nothing_remains();
    assert_eq!(bench.failures(Side::I), ["INVALID_SYNTAX"]);
}

#[test]
fn transport_mode_if_both_request_it() {
    for (i_mode, r_mode, agreed) in [
        (Mode::Transport, Mode::Transport, Mode::Transport),
        (Mode::Transport, Mode::Tunnel, Mode::Tunnel),
        (Mode::Tunnel, Mode::Transport, Mode::Tunnel),
    ] {
        let (mut i, mut r) = psk();
        only_child(&mut i).mode = i_mode;
        only_child(&mut r).mode = r_mode;
        let bench = Bench::new((i, r)).established();
        bench.assert_agreement();
        assert_eq!(bench.i.books.only_child().mode, agreed, "{i_mode:?} meets {r_mode:?}");
    }
}

/// RFC 4301 §4.1: transport mode is for the traffic of two hosts; a policy for networks behind them leads to a tunnel.
#[test]
fn networks_get_a_tunnel_although_both_request_transport_mode() {
    for (ours, theirs) in [("10.1.0.0/16", None), ("0.0.0.0/0", Some("0.0.0.0/0"))] {
        let (mut i, mut r) = psk();
        for (config, local, remote) in [(&mut i, Some(ours), theirs), (&mut r, theirs, Some(ours))] {
            let child = only_child(config);
            child.mode = Mode::Transport;
            child.local = local.into_iter().map(net).collect();
            child.remote = remote.into_iter().map(net).collect();
        }
        let bench = Bench::new((i, r)).established();
        bench.assert_agreement();
        assert_eq!(bench.i.books.only_child().mode, Mode::Tunnel, "{ours} {theirs:?}");
    }
}

#[test]
fn traffic_is_narrowed_to_the_intersection() {
    let (mut i, mut r) = psk();
    only_child(&mut i).local = vec![net("10.1.0.0/16")];
    only_child(&mut i).remote = vec![net("0.0.0.0/0")];
    only_child(&mut r).local = vec![net("10.2.0.0/24"), net("10.3.0.0/24")];
    only_child(&mut r).remote = vec![net("10.1.7.0/24")];
    let bench = Bench::new((i, r)).established();
    bench.assert_agreement();
    let child = bench.i.books.only_child();
    assert_eq!(child.local, [net("10.1.7.0/24")]);
    assert_eq!(child.remote, [net("10.2.0.0/24"), net("10.3.0.0/24")]);
}

#[test]
fn addresses_are_assigned_and_come_back() {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only_child(&mut i).remote = vec![net("0.0.0.0/0")];
    only_child(&mut r).local = vec![net("0.0.0.0/0")];
    only(&mut r).pool = Some(lab::pool());
    let mut bench = Bench::new((i, r)).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH CP SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH CP SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
    ",
    );
    bench.assert_agreement();
    assert_eq!(assigned(&mut bench, Side::I), ["10.0.0.1"]);
    assert_eq!(assigned(&mut bench, Side::R), ["10.0.0.1"]);
    assert_eq!(bench.i.books.only_child().local, [net("10.0.0.1/32")]);

    bench.initiate();
    bench.settle();
    assert_eq!(assigned(&mut bench, Side::I), ["10.0.0.1", "10.0.0.2"], "the first is still in use");
    for sa in bench.i.books.sas() {
        bench.command(Side::I, Command::Delete(sa));
    }
    bench.settle();
    bench.initiate();
    bench.settle();
    assert_eq!(assigned(&mut bench, Side::I), ["10.0.0.1", "10.0.0.2", "10.0.0.1"], "it came back");
}

#[test]
fn a_device_with_a_pool_address_gets_only_its_own_traffic() {
    let neighbours = || {
        let (mut i, mut r) = psk();
        only(&mut r).pool = Some(lab::pool());
        only_child(&mut r).remote = vec![net("10.0.0.0/8")];
        only_child(&mut i).local = vec![net("10.0.0.0/8")];
        (i, r)
    };
    let (mut i, r) = neighbours();
    only(&mut i).request_address = true;
    let bench = Bench::new((i, r)).established();
    assert_eq!(
        bench.r.books.only_child().remote,
        [net("10.0.0.1/32")],
        "what was assigned, not what was asked"
    );

    // Without a pool address, no traffic of the pool.
    let mut bench = Bench::new(neighbours());
    bench.initiate();
    bench.settle();
    assert!(bench.r.books.all_children().is_empty(), "{}", bench.ladder);
}

fn assigned(bench: &mut Bench, side: Side) -> Vec<String> {
    let address = |event: &Event| match event {
        Event::Established(up) => Some(up.address.map_or_else(|| "none".to_owned(), |ip| ip.to_string())),
        _ => None,
    };
    bench.seat(side).events.iter().filter_map(address).collect()
}

#[test]
fn an_empty_pool_costs_the_child_but_not_the_ike_sa() {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only(&mut r).pool = Some(keytoll_ike::config::Pool { size: 0, ..lab::pool() });
    let mut bench = Bench::new((i, r)).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH CP SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH N
        r  established with device.example.org
        r  child failed: INTERNAL_ADDRESS_FAILURE
        i  established with gw.example.org
        i  child failed: INTERNAL_ADDRESS_FAILURE
    ",
    );
    assert_eq!(bench.refusals(Side::I), ["INTERNAL_ADDRESS_FAILURE"]);
    assert_eq!(bench.refusals(Side::R), ["INTERNAL_ADDRESS_FAILURE"]);
    assert_eq!((bench.i.endpoint.sa_count(), bench.r.endpoint.sa_count()), (1, 1));
}

#[test]
fn every_kind_of_suite() {
    let ikes = [
        "3des-md5-modp1024",
        "aes128-sha1-modp2048",
        "aes256-sha512-ecp384",
        "aes192ctr-aesxcbc-ecp521",
        "aes256ctr-aescmac-x25519",
        "aes128gcm8-prfsha1-x25519",
        "aes256gcm16-prfsha512-ecp256",
        "aes128ccm12-prfsha384-x25519",
        "chacha20poly1305-prfsha256-x25519",
        "aes128gcm16-prfaescmac-x25519",
    ];
    let esps =
        ["null-sha1", "aes128-sha256", "3des-md5", "aes256ctr-sha512", "aes256gcm16-esn", "aes128ccm8"];
    for (n, suite) in ikes.into_iter().enumerate() {
        let child = esps[n % esps.len()];
        let bench = Bench::new(both(psk(), |connection| {
            connection.suites = ike(suite);
            connection.child.as_mut().unwrap().suites = esp(child);
        }));
        let bench = bench.established();
        bench.assert_agreement();
        assert_eq!(bench.i.books.only_child().pair.suite, esp(child)[0], "{suite}");
    }
}

#[test]
fn the_initiators_best_suite_that_the_responder_supports() {
    let (mut i, mut r) = psk();
    only(&mut i).suites =
        ike("chacha20poly1305-prfsha256-x25519 aes256gcm16-prfsha256-x25519 aes128-sha256-x25519");
    only(&mut r).suites = ike("aes128-sha256-x25519 aes256gcm16-prfsha256-x25519");
    only_child(&mut i).suites = esp("chacha20poly1305 aes128gcm16 aes256gcm16");
    only_child(&mut r).suites = esp("aes256gcm16 aes128gcm16");
    let bench = Bench::new((i, r)).established();
    bench.assert_agreement();
    let up = bench.r.events.iter().find_map(|event| match event {
        Event::Established(up) => Some(up.suite.to_string()),
        _ => None,
    });
    assert_eq!(up.as_deref(), Some("aes256gcm16-prfsha256-x25519"));
    assert_eq!(bench.r.books.only_child().pair.suite, esp("aes128gcm16")[0]);
}

#[test]
fn one_gateway_many_devices_each_with_a_key_of_its_own() {
    let names = ["a.example.org", "b.example.org"];
    let devices = names.map(|name| {
        let mut connection = lab::connection(name, lab::GATEWAY);
        connection.local = Prove::Psk(secret(name));
        connection.remote = Believe::psk(secret(name));
        connection
    });
    let (_, mut r) = psk();
    only(&mut r).remote_id = None;
    only(&mut r).remote = lab::keys_by_identity(&[(names[0], names[0]), (names[1], "somebody else's")]);
    only(&mut r).local = Prove::Psk(secret(names[0]));
    let mut bench = Bench::new((keytoll_ike::Config::new(devices.to_vec()), r));
    bench.initiate_from(Side::I, 0);
    bench.settle();
    bench.assert_agreement();
    bench.initiate_from(Side::I, 1);
    bench.settle();
    assert_eq!(bench.failures(Side::R), ["AUTHENTICATION_FAILED"]);
    assert_eq!(bench.r.books.sa_count(), 1);
}

/// A holder of a shared guest key can claim any identity. The IKE SAs of a peer that authenticated with a certificate are not
/// its own, however often it connects and even with INITIAL_CONTACT.
#[test]
fn a_name_under_another_connection_is_another_peer() {
    let (mut i, mut r) = Pki::new(KeyKind::EcdsaP256, 2).configs();
    let (mut guests, mut guest) = (only(&mut r).clone(), only(&mut i).clone());
    (guests.remote_id, guests.remote) = (None, Believe::psk(secret("on the wall")));
    guest.local = Prove::Psk(secret("on the wall"));
    r.connections.push(guests);
    i.connections.push(guest);
    let mut bench = Bench::new((i, r)).established();
    let boss = bench.r.books.only_sa();
    for n in 1..=6 {
        bench.initiate_from(Side::I, 1);
        bench.settle();
        assert!(bench.r.books.sas().contains(&boss), "after {n}\n{}", bench.ladder);
    }
    assert_eq!(bench.r.books.sa_count(), 1 + 4, "of the guest's own the oldest go");
}

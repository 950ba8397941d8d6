//! The client over streams: RFC 6613 §2.6 and RFC 6614 §3.

use std::time::Duration;

use super::support::*;
use keytoll_engine::{Input, Time};
use keytoll_net::Addr;
use keytoll_radius::client::{Accept, ConversationId, Event, Reason};

const ONE: ConversationId = ConversationId(1);

/// Our end of a connection, by the number of the conversation that takes it.
fn end(number: u16) -> Addr {
    Addr::tcp(gateway(), 40_000 + number % 4)
}

fn server() -> Addr {
    Addr::tcp(aaa(), 1812)
}

/// The connection of this conversation is gone.
fn lose(bench: &mut Bench, number: u16) {
    bench.client_input(Input::Lost { peer: server(), local: end(number) });
}

fn failed(conversation: u64, why: Reason) -> Event {
    Event::Failed(ConversationId(conversation), why)
}

fn after(bench: &mut Bench, wait: Duration) {
    let end = bench.now + wait;
    bench.run_until(end);
    bench.now = end;
}

#[test]
fn a_conversation_stays_on_one_connection() {
    let mut bench = Bench::over_streams();
    bench.authenticate(identity(1));
    bench.round_trip();
    bench.authenticate(answer(1, bench.state()));
    bench.round_trip();
    assert!(matches!(bench.told.last(), Some(Event::Accept(Accept { conversation: ONE, .. }))));
    let requests = bench.datagrams.iter().step_by(2).map(|one| (one.from, one.to));
    assert!(requests.eq([(end(1), server()); 2]));
    assert_eq!((bench.client.outstanding(), bench.closed.len()), (0, 0));
}

#[test]
fn every_connection_has_256_identifiers_and_all_are_used_alike() {
    let mut bench = Bench::over_streams();
    bench.owner = |_| None;
    (0..1025).for_each(|n| bench.authenticate(identity(n)));
    assert_eq!(bench.told, [failed(1024, Reason::Busy)]);
    for number in 0..4 {
        assert_eq!(bench.datagrams.iter().filter(|one| one.from == end(number)).count(), 256);
    }
}

/// RFC 6613 §2.6.1; RFC 3539 §3.4: a connection without a sign of life is closed.
#[test]
fn nothing_is_sent_twice_and_a_silent_connection_is_closed_in_the_end() {
    let mut bench = Bench::over_streams();
    bench.owner = |_| None;
    bench.authenticate(identity(1));
    after(&mut bench, Duration::from_secs(29));
    bench.authenticate(identity(5));
    bench.authenticate(identity(2));
    after(&mut bench, Duration::from_secs(1));
    assert_eq!(bench.datagrams.len(), 3);
    assert_eq!(bench.told, [failed(1, Reason::Timeout), failed(5, Reason::Lost)]);
    assert_eq!((&bench.closed[..], bench.client.outstanding()), (&[end(1)][..], 1));
}

#[test]
fn a_request_without_an_answer_fails_alone_where_others_have_theirs() {
    let mut bench = Bench::over_streams();
    bench.faults.insert(0, Fault::Lost);
    bench.authenticate(identity(1));
    bench.authenticate(identity(5));
    bench.run();
    assert_eq!(bench.told.last(), Some(&failed(1, Reason::Timeout)));
    assert!(matches!(bench.told[0], Event::Challenge { conversation: ConversationId(5), .. }));
    assert_eq!((bench.told.len(), bench.closed.len()), (2, 0));
}

#[test]
fn what_a_lost_connection_owes_fails_and_nothing_else() {
    let mut bench = Bench::over_streams();
    (1..=5).for_each(|n| bench.authenticate(identity(n)));
    lose(&mut bench, 1);
    assert_eq!(bench.told, [failed(1, Reason::Lost), failed(5, Reason::Lost)]);
    assert_eq!(bench.client.outstanding(), 3);
    bench.authenticate(identity(9));
    assert_eq!(bench.datagrams.last().unwrap().from, end(9), "the first loss is made good at once");
}

#[test]
fn a_connection_that_fails_again_rests_while_others_serve() {
    let mut bench = Bench::over_streams();
    (0..2).for_each(|_| lose(&mut bench, 1));
    let from = |bench: &mut Bench| {
        bench.authenticate(identity(1));
        bench.datagrams.last().unwrap().from
    };
    assert_eq!(from(&mut bench), end(2));
    after(&mut bench, Duration::from_millis(99));
    assert_eq!(from(&mut bench), end(2));
    after(&mut bench, Duration::from_millis(1));
    assert_eq!(from(&mut bench), end(1));
}

#[test]
fn without_any_connection_requests_fail_at_once_until_one_may_be_attempted() {
    let mut bench = Bench::over_streams();
    (0..4).for_each(|number| (0..2).for_each(|_| lose(&mut bench, number)));
    bench.authenticate(identity(1));
    assert_eq!((bench.told.pop(), bench.datagrams.len()), (Some(failed(1, Reason::Unconnected)), 0));
    after(&mut bench, Duration::from_millis(100));
    bench.authenticate(identity(1));
    bench.round_trip();
    assert!(matches!(bench.told[..], [Event::Challenge { .. }]), "{:?}", bench.told);
    // An answer has come: the next loss is the first again.
    lose(&mut bench, 1);
    bench.authenticate(identity(1));
    assert_eq!(bench.datagrams.last().unwrap().from, end(1));
}

/// RFC 6613 §2.6.4: what RFC 2865 discards in silence closes the connection.
#[test]
fn forged_and_malformed_answers_close_their_connection() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(Damage, &str); 3] = [
        (|bytes| bytes[10] ^= 1, "wrong authenticator"),
        (|bytes| bytes[21] = 1, "malformed"),
        (|bytes| bytes[3] += 1, "malformed"),
    ];
    for (damage, why) in damages {
        let mut bench = Bench::over_streams();
        [1, 5].into_iter().for_each(|n| bench.authenticate(identity(n)));
        bench.deliver(&bench.datagrams[0].clone());
        let mut answer = bench.datagrams[2].clone();
        damage(&mut answer.bytes);
        bench.deliver(&answer);
        assert_eq!(bench.discards(), [why]);
        assert_eq!(bench.told, [failed(1, Reason::Lost), failed(5, Reason::Lost)]);
        assert_eq!(bench.closed, [end(1)]);
        bench.authenticate(identity(9));
        assert_eq!(bench.datagrams.last().unwrap().from, end(2), "it is not used before it is gone");
        lose(&mut bench, 1);
        bench.authenticate(identity(1));
        assert_eq!(bench.datagrams.last().unwrap().from, end(1));
    }
}

#[test]
fn an_answer_that_nobody_waits_for_is_passed_over() {
    let mut bench = Bench::over_streams();
    bench.authenticate(identity(1));
    bench.deliver(&bench.datagrams[0].clone());
    let mut answer = bench.datagrams[1].clone();
    answer.bytes[1] ^= 1;
    bench.deliver(&answer);
    assert_eq!((bench.discards(), bench.closed.len()), (vec!["unknown identifier"], 0));
    bench.deliver(&bench.datagrams[1].clone());
    assert!(matches!(bench.told[..], [Event::Challenge { conversation: ONE, .. }]));
}

#[test]
fn a_datagram_is_no_part_of_a_stream() {
    let mut bench = Bench::over_streams();
    bench.authenticate(identity(1));
    let bytes = &bench.datagrams[0].bytes.clone();
    let (from, to) = (Addr::Udp(authentication()), Addr::udp(gateway(), 40_001));
    bench.client_input(Input::Datagram { from, to, bytes });
    assert_eq!((bench.discards(), bench.closed.len()), (vec!["not in TCP"], 0));
    assert_eq!(bench.now, Time::ZERO);
}

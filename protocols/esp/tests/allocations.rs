//! No packet allocates, sent or received, whatever the algorithms; without the test harness, because the library's heap
//! can only be routed while there is one thread.

mod support;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_esp::sad::{Headers, OuterHeader};
use keytoll_esp::{Dropped, Frame, PairConfig};
use keytoll_native::heap::{TaggedHeap, allocations, enter, install_crypto_heap};
use keytoll_net::Addr;
use support::{HITS, Host, INNER, OUTER, Room, beet, datagram, ip, key, pair};

#[global_allocator]
static HEAP: TaggedHeap = TaggedHeap;

/// The role that is charged for what is measured.
const MEASURED: u8 = 1;

fn main() {
    install_crypto_heap().expect("nothing was allocated by the library before main");
    for &encryption in Encryption::ALL {
        for &integrity in Integrity::ALL {
            check(encryption, integrity);
        }
    }
}

fn check(encryption: Encryption, integrity: Integrity) {
    let key = key(encryption, Some(integrity));
    check_mode(INNER, |end| pair(end, &key), &format!("{encryption} {integrity}"));
    check_mode(HITS, |end| beet(end, &key), &format!("{encryption} {integrity} in BEET mode"));
    let with_headers = |end| {
        let mut pair = beet(end, &key);
        pair.path.headers = Headers::Here(OuterHeader::default());
        pair
    };
    check_mode(HITS, with_headers, &format!("{encryption} {integrity} in BEET mode with headers"));
}

fn check_mode(inner: [&str; 2], pair: impl Fn(usize) -> PairConfig, name: &str) {
    let mut ends = [0, 1].map(|end| Host::with(pair(end)));
    let mut packets: Vec<_> = (0..8).map(|_| Room::around(&datagram(inner[0], inner[1], 500))).collect();
    let (first, rest) = packets.split_at_mut(3);
    // The second packet expands the keys, the third may find its scratch space too small.
    first.iter_mut().for_each(|packet| pass(&mut ends, packet.frame()));
    let before = allocations(MEASURED);
    let role = enter(MEASURED);
    rest.iter_mut().for_each(|packet| pass(&mut ends, packet.frame()));
    drop(role);
    assert_eq!(allocations(MEASURED) - before, 0, "{name}");
}

/// A packet through both ends, and the same again, which is a replay.
fn pass([sender, receiver]: &mut [Host; 2], mut frame: Frame<'_>) {
    let [from, to] = [OUTER[0], OUTER[1]].map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
    sender.ipsec.outbound(&mut frame, &mut sender.rng, &mut sender.crypto, &mut ()).expect("there is an SA");
    let has_headers = frame.bytes()[0] >> 4 == 4;
    let mut copy = [0; 1024];
    let copy = &mut copy[..frame.len()];
    copy.copy_from_slice(frame.bytes());
    let mut open = |frame: &mut Frame<'_>| {
        let Host { ipsec, crypto, .. } = receiver;
        if has_headers {
            ipsec.inbound_packet(frame, crypto, &mut ())
        } else {
            ipsec.inbound(frame, from, to, crypto, &mut ())
        }
    };
    open(&mut frame).expect("it was just sealed");
    assert_eq!(open(&mut Frame::whole(copy)), Err(Dropped::Replay));
}

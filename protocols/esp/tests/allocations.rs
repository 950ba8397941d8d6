//! No packet allocates, sent or received, whatever the algorithms; without the test harness, because the library's heap
//! can only be routed while there is one thread.

mod support;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_esp::{Dropped, Frame};
use keytoll_native::heap::{TaggedHeap, allocations, enter, install_crypto_heap};
use keytoll_net::Addr;
use support::{Host, INNER, OUTER, Room, datagram, ip, key, pair};

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
    let mut ends = [0, 1].map(|end| Host::with(pair(end, &key)));
    let mut packets: Vec<_> = (0..8).map(|_| Room::around(&datagram(INNER[0], INNER[1], 500))).collect();
    let (first, rest) = packets.split_at_mut(3);
    // The second packet expands the keys, the third may find its scratch space too small.
    first.iter_mut().for_each(|packet| pass(&mut ends, packet.frame()));
    let before = allocations(MEASURED);
    let role = enter(MEASURED);
    rest.iter_mut().for_each(|packet| pass(&mut ends, packet.frame()));
    drop(role);
    assert_eq!(allocations(MEASURED) - before, 0, "{encryption} {integrity}");
}

/// A packet through both ends, and the same again, which is a replay.
fn pass([sender, receiver]: &mut [Host; 2], mut frame: Frame<'_>) {
    let [from, to] = [OUTER[0], OUTER[1]].map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
    sender.ipsec.outbound(&mut frame, &mut sender.rng, &mut sender.crypto, &mut ()).expect("there is an SA");
    let mut copy = [0; 1024];
    let copy = &mut copy[..frame.len()];
    copy.copy_from_slice(frame.bytes());
    receiver.ipsec.inbound(&mut frame, from, to, &mut receiver.crypto, &mut ()).expect("it was just sealed");
    let again = receiver.ipsec.inbound(&mut Frame::whole(copy), from, to, &mut receiver.crypto, &mut ());
    assert_eq!(again, Err(Dropped::Replay));
}

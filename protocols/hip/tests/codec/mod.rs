//! Any bytes as a HIP packet: the fuzz target `hip_codec`, and the test that replays its corpus.
//!
//! Invariants: no panic; what the strict reader reads the lenient one reads, too; and a packet that is put together of the
//! parameters that were read has the same ones.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_hip::Leniency;
use keytoll_hip::wire::encrypted::{Encrypted, only_parameter};
use keytoll_hip::wire::esp::EspInfo;
use keytoll_hip::wire::key_exchange::DiffieHellman;
use keytoll_hip::wire::puzzle::{Puzzle, R1Counter, Solution};
use keytoll_hip::wire::signature::Signature;
use keytoll_hip::wire::update::{Notification, read_ack, read_locators, read_seq};
use keytoll_hip::wire::{Builder, HostId, Packet, Parameter, aka, lists};

const ADDRESSES: (IpAddr, IpAddr) =
    (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)));

/// Checks a packet; says whether the strict reader reads it.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let strict = Packet::read(bytes, Leniency::default());
    let lenient = Packet::read(bytes, Leniency { any_order: true, ..Leniency::NONE });
    assert!(strict.is_err() || lenient.is_ok(), "what is right is right to a lenient reader, too");
    let Ok(packet) = lenient else { return false };
    let _ = packet.has_checksum(ADDRESSES);
    packet.parameters().iter().for_each(|parameter| {
        check_parameter(parameter);
        assert_eq!(packet.scope(parameter.begins).parts().concat().len(), parameter.begins);
    });
    let Ok(packet) = strict else { return false };
    check_rebuilt(&packet);
    true
}

/// Every reader reads every parameter, whatever its type says.
fn check_parameter(parameter: &Parameter<'_>) {
    let contents = parameter.contents;
    let _ = Puzzle::read(contents).map(|puzzle| puzzle.lifetime());
    let _ = Solution::read(contents);
    let _ = R1Counter::read(contents);
    let _ = EspInfo::read(contents);
    let _ = DiffieHellman::read(contents);
    let _ = HostId::read(contents)
        .map(|host_id| keytoll_hip::identity::PeerIdentity::of(&host_id, Default::default()));
    let _ = Signature::read(contents);
    let _ = Notification::read(contents);
    let _ = (read_seq(contents), read_ack(contents), read_locators(contents));
    let _ = (lists::octets(contents), lists::numbers(contents, "numbers"), lists::esp_suites(contents));
    let _ = (aka::Challenge::read(contents), aka::Response::read(contents), aka::read_result(contents));
    for iv_len in [0, 16] {
        let _ = Encrypted::read(contents, iv_len);
    }
    let _ = only_parameter(parameter.bytes(), parameter.kind);
}

fn check_rebuilt(packet: &Packet<'_>) {
    let header = &packet.header;
    let mut builder = Builder::new(header.packet_type, header.sender, header.receiver);
    for parameter in packet.parameters() {
        builder.parameter(parameter.kind, |w| w.bytes(parameter.bytes()));
    }
    let bytes = builder.finish().expect("the packet that was read is not longer");
    let again = Packet::read(&bytes, Leniency::default()).expect("a packet of ours");
    let all = |packet: &Packet<'_>| -> Vec<_> {
        let parameters = packet.parameters().iter();
        parameters.map(|parameter| (parameter.kind, parameter.bytes().to_vec())).collect()
    };
    assert_eq!(all(packet), all(&again));
}

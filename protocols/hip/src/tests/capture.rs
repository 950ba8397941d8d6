//! A public capture of another implementation, read with our codec and checked with our primitives.
//!
//! It is `hip.pcap` of the repository strangebit-io/cutehip: a base exchange of RSA hosts over IPv4. It is not part of this
//! repository; `KEYTOLL_HIP_CAPTURE` says where it is, and without it there is nothing to read. What that implementation does
//! otherwise than RFC 7401, and is overlooked here by name: parameters that do not ascend, HIT-R before HIT-I in the puzzle,
//! and HIP_SIGNATURE_2 in R2.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_crypto::Real;

use crate::Hit;
use crate::identity::{P256Hash, PeerIdentity};
use crate::leniency::Leniency;
use crate::number::{HitSuite, PacketType, ParameterType, Rhash};
use crate::puzzle::{PuzzleFunction, Question};
use crate::wire::parameter::PREFIX_LEN;
use crate::wire::puzzle::{OPAQUE_AT, Puzzle, Solution};
use crate::wire::signature::Signature;
use crate::wire::{HostId, Packet};

const GLOBAL_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
const ETHERNET_LEN: usize = 14;

type Ends = (IpAddr, IpAddr);

/// The HIP packets over IPv4 of a capture, with their addresses.
fn packets(pcap: &[u8]) -> Vec<(Ends, Vec<u8>)> {
    let mut found = Vec::new();
    let mut rest = &pcap[GLOBAL_HEADER_LEN..];
    while let Some((header, tail)) = rest.split_at_checked(RECORD_HEADER_LEN) {
        let len = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (frame, tail) = tail.split_at(len);
        rest = tail;
        let ip = &frame[ETHERNET_LEN..];
        if frame[12..14] == [8, 0] && ip[9] == 139 {
            let at =
                |from: usize| IpAddr::V4(Ipv4Addr::new(ip[from], ip[from + 1], ip[from + 2], ip[from + 3]));
            let (begin, end) = (4 * usize::from(ip[0] & 15), usize::from(u16::from_be_bytes([ip[2], ip[3]])));
            found.push(((at(12), at(16)), ip[begin..end].to_vec()));
        }
    }
    found
}

fn identity(packet: &Packet<'_>) -> PeerIdentity {
    let parameter = packet.one(ParameterType::HOST_ID, "HOST_ID").unwrap();
    let host_id = HostId::read(parameter.contents).unwrap();
    let hit = Hit::of(HitSuite::RsaSha256, host_id.identity, &mut Real::default());
    assert_eq!(hit, packet.header.sender);
    PeerIdentity::of(&host_id, P256Hash::default()).unwrap()
}

/// The signature of a packet, over all before it, the puzzle's variable part excepted in R1.
fn assert_signature(packet: &Packet<'_>, kind: ParameterType, peer: &PeerIdentity) {
    let parameter = packet.one(kind, "signature").unwrap();
    assert!(packet.has_covered(&parameter), "what is not in order is at least before it");
    let mut scope = packet.scope(parameter.begins);
    if packet.header.packet_type == PacketType::R1 {
        let puzzle = packet.one(ParameterType::PUZZLE, "PUZZLE").unwrap();
        let begin = puzzle.begins + PREFIX_LEN;
        scope = scope.without_puzzle(begin + OPAQUE_AT, begin + puzzle.bytes().len());
    }
    let signature = Signature::read(parameter.contents).unwrap();
    assert_eq!(peer.verify(&scope.parts(), signature.bytes, &mut Real::default()), Ok(()));
}

#[test]
fn the_exchange_of_another_implementation_is_understood() {
    let Some(path) = std::env::var_os("KEYTOLL_HIP_CAPTURE") else {
        return println!("SKIPPED: KEYTOLL_HIP_CAPTURE does not say where hip.pcap of cutehip is");
    };
    let packets = packets(&std::fs::read(path).unwrap());
    let lenient = Leniency { any_order: true, ..Leniency::NONE };
    let packets: Vec<(Ends, Packet<'_>)> =
        packets.iter().map(|(ends, bytes)| (*ends, Packet::read(bytes, lenient).unwrap())).collect();
    assert!(packets.iter().all(|(ends, packet)| packet.has_checksum(*ends)));
    let of = |packet_type| {
        let mut all = packets.iter().map(|(_, packet)| packet);
        all.find(|packet| packet.header.packet_type == packet_type).expect("a whole exchange")
    };
    let (r1, i2, r2) = (of(PacketType::R1), of(PacketType::I2), of(PacketType::R2));
    assert_eq!([of(PacketType::I1), r1, i2, r2].map(|packet| packet.bytes.len()), [56, 776, 576, 360]);
    assert!(Packet::read(r1.bytes, Leniency::default()).is_err(), "it is not in order");
    let (responder, initiator) = (identity(r1), identity(i2));
    assert_signature(r1, ParameterType::HIP_SIGNATURE_2, &responder);
    assert_signature(i2, ParameterType::HIP_SIGNATURE, &initiator);
    assert_signature(r2, ParameterType::HIP_SIGNATURE_2, &responder);
    let puzzle = Puzzle::read(r1.one(ParameterType::PUZZLE, "PUZZLE").unwrap().contents).unwrap();
    let solution = Solution::read(i2.one(ParameterType::SOLUTION, "SOLUTION").unwrap().contents).unwrap();
    assert_eq!((solution.random, solution.difficulty_bits), (puzzle.random, puzzle.difficulty_bits));
    let swapped = Question {
        function: PuzzleFunction::Rhash(Rhash::Sha256),
        difficulty_bits: puzzle.difficulty_bits,
        random: puzzle.random,
        initiator: r1.header.sender,
        responder: i2.header.sender,
    };
    assert!(swapped.is_solved_by(solution.solution, &mut Real::default()));
}

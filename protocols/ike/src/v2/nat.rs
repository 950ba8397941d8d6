//! NAT detection, RFC 7296 §2.23: each side sends hashes of the addresses it sees; a mismatch reveals a NAT.

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Digest, about};
use keytoll_engine::Ctx;
use keytoll_net::Socket;

use std::net::IpAddr;

pub(super) use crate::nat::Nat;

/// SHA-1(SPIi | SPIr | IP | port); RFC 7296 §2.23 prescribes the hash, which protects nothing.
pub(super) fn hash(initiator_spi: u64, responder_spi: u64, addr: Socket, cx: &mut Ctx<'_>) -> Digest {
    let (initiator, responder) = (initiator_spi.to_be_bytes(), responder_spi.to_be_bytes());
    let port = addr.port.to_be_bytes();
    about(cx.crypto, "NAT detection", |crypto| match addr.ip {
        IpAddr::V4(ip) => crypto.hash(Hash::Sha1, &[&initiator, &responder, &ip.octets(), &port]),
        IpAddr::V6(ip) => crypto.hash(Hash::Sha1, &[&initiator, &responder, &ip.octets(), &port]),
    })
}

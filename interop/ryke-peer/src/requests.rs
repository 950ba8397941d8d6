//! Requests of an established IKE SA, each from a port that the peer has not seen before, and the answers to requests of the peer.

use std::net::SocketAddr;

use ryke::ikev2::payload::protocol_id;
use ryke::ikev2::rekey::{build_rekey_request, initiator_complete_rekey};
use ryke::{
    ChildSa, CompletedSaInit, Delete, Entropy, ExchangeType, IkeHeader, OsEntropy, PayloadType,
    build_informational, dpd_request, is_ike_sa_rekey, open_informational, responder_process_ike_rekey,
    responder_process_rekey,
};

use crate::Outcome;
use crate::answer::error_in;
use crate::wire::Wire;

/// An IKE SA, and where the peer is.
#[derive(Clone)]
pub struct Peer {
    pub sa: CompletedSaInit,
    pub at: SocketAddr,
    pub is_marked: bool,
    /// The message ID of the next request.
    pub next_id: u32,
}

/// The effect of a request of the peer on the SAs.
pub enum Change {
    None,
    /// A new CHILD SA in place of the newest one.
    Child(ChildSa),
    /// A new IKE SA in place of this one.
    Ike(Box<CompletedSaInit>),
    /// The end of this IKE SA.
    End,
}

impl Peer {
    /// RFC 7296 §2.11: the response goes to the port that the request came from.
    fn ask(&mut self, what: &str, request: &[u8]) -> Outcome<Vec<u8>> {
        let wire = Wire::new(self.at, self.is_marked)?;
        let port = wire.socket.local_addr()?.port();
        let response =
            wire.ask(request).map_err(|why| format!("{what}: not answered at port {port}: {why}"))?;
        self.next_id += 1;
        println!("{what}: answered at the new port {port}");
        Ok(response)
    }

    /// Liveness, RFC 7296 §2.4.
    pub fn probe(&mut self) -> Outcome<()> {
        let request = dpd_request(&self.sa, self.next_id, &iv()?)?;
        let response = self.ask("probe", &request)?;
        match open_informational(&self.sa, &response)?.len() {
            0 => Ok(()),
            count => Err(format!("probe: {count} payloads in the answer").into()),
        }
    }

    /// The same request twice, from two ports: the same response, RFC 7296 §2.1.
    pub fn repeat(&mut self) -> Outcome<()> {
        let request = dpd_request(&self.sa, self.next_id, &iv()?)?;
        let first = self.ask("repeat", &request)?;
        let second = Wire::new(self.at, self.is_marked)?.ask(&request)?;
        println!("repeat: {}", if first == second { "the same response" } else { "another response" });
        Ok(())
    }

    /// New keys of a CHILD SA, RFC 7296 §2.8; the old one is deleted.
    pub fn rekey(&mut self, child: &ChildSa) -> Outcome<ChildSa> {
        let mut entropy = OsEntropy::new()?;
        let (old, new, nonce) = (child.inbound.spi(), fresh_spi(&mut entropy), entropy.next_array32());
        let request = build_rekey_request(&self.sa, self.next_id, old, new, &nonce, &iv()?)?;
        let response = self.ask("rekey", &request)?;
        let child = initiator_complete_rekey(&self.sa, &nonce, new, &response)
            .map_err(|why| format!("rekey: {why}{}", error_in(&self.sa, &response)))?;
        println!("rekey: new CHILD SA");
        self.delete("delete of the old CHILD SA", &Delete::esp(vec![old]))?;
        Ok(child)
    }

    /// The end of the IKE SA, RFC 7296 §1.4.1.
    pub fn end(&mut self) -> Outcome<()> {
        self.delete("delete", &Delete::ike_sa())
    }

    fn delete(&mut self, what: &str, delete: &Delete) -> Outcome<()> {
        let payloads = [(PayloadType::Delete, delete.to_bytes())];
        let request = build_informational(&self.sa, self.next_id, false, &payloads, &iv()?)?;
        self.ask(what, &request).map(drop)
    }

    /// The response to a request of the peer after IKE_AUTH, and its effect. A new CHILD SA is for the traffic that the peer names,
    /// unless an address was assigned.
    pub fn answer(&self, request: &[u8], assigned: Option<std::net::Ipv4Addr>) -> Outcome<(Vec<u8>, Change)> {
        let inner = open_informational(&self.sa, request)?;
        match IkeHeader::parse(request)?.exchange_type {
            ExchangeType::CreateChildSa => self.rekeyed(request, is_ike_sa_rekey(&inner), assigned),
            ExchangeType::Informational => self.informed(request, &inner),
            _ => Err("an unknown exchange".into()),
        }
    }

    fn rekeyed(
        &self,
        request: &[u8],
        is_ike: bool,
        assigned: Option<std::net::Ipv4Addr>,
    ) -> Outcome<(Vec<u8>, Change)> {
        let mut entropy = OsEntropy::new()?;
        let nonce = entropy.next_array32();
        if is_ike {
            let (spi, private) = (entropy.next_u64(), entropy.next_array32());
            let (response, sa) =
                responder_process_ike_rekey(&self.sa, request, spi, &private, &nonce, &iv()?)?;
            println!("new IKE SA, wanted by the peer");
            return Ok((response, Change::Ike(Box::new(sa))));
        }
        let spi = fresh_spi(&mut entropy);
        let (response, child) = responder_process_rekey(&self.sa, request, spi, &nonce, &iv()?, assigned)?;
        println!("new CHILD SA, wanted by the peer");
        Ok((response, Change::Child(child)))
    }

    fn informed(&self, request: &[u8], inner: &[(PayloadType, Vec<u8>)]) -> Outcome<(Vec<u8>, Change)> {
        let deletes = inner.iter().filter(|(kind, _)| *kind == PayloadType::Delete);
        let deletes: Vec<_> = deletes.filter_map(|(_, body)| Delete::parse(body).ok()).collect();
        let ends = deletes.iter().any(|delete| delete.protocol_id == protocol_id::IKE);
        println!(
            "{}",
            match (inner.is_empty(), ends, deletes.is_empty()) {
                (true, ..) => "probe of the peer answered",
                (_, true, _) => "deleted by the peer",
                (_, _, false) => "CHILD SA deleted by the peer",
                _ => "INFORMATIONAL of the peer answered",
            }
        );
        let message_id = IkeHeader::parse(request)?.message_id;
        let response = build_informational(&self.sa, message_id, true, &[], &iv()?)?;
        Ok((response, if ends { Change::End } else { Change::None }))
    }
}

/// An SPI of a CHILD SA; those up to 255 are reserved.
pub fn fresh_spi(entropy: &mut OsEntropy) -> u32 {
    (entropy.next_u64() as u32).max(256)
}

/// A new initialization vector.
pub fn iv() -> Outcome<[u8; 8]> {
    let mut iv = [0; 8];
    OsEntropy::new()?.fill(&mut iv);
    Ok(iv)
}

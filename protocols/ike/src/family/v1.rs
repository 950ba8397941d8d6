//! IKEv1 messages: RFC 2408 §3, RFC 2409 §5, RFC 2407 §4.6. With the key of the ISAKMP SA the encrypted ones are opened.

use std::sync::Arc;

use keytoll_crypto_api::Crypto;
use keytoll_family::words::short_hex;
use keytoll_family::{Dissected, Part, Passed};

use super::analyser::{IkeAnalyser, OPEN_MAX};
use super::payloads::{Deleted, Meaning, identity, vendor};
use super::v2::{Ike, Inside};
use crate::names;
use crate::number::{IdKind, PayloadType, ProtocolId};
use crate::v1::overheard::{NotOpened, Overheard};
use crate::v1::proposal::Phase1Transform;
use crate::v1::wire::{Delete, Identification, Message, Payload, SecurityAssociation};
use crate::v1::words;
use crate::wire::Header;

pub(super) fn name(header: &Header) -> String {
    match header.exchange.0 {
        2 => "Main Mode".to_owned(),
        4 => "Aggressive Mode".to_owned(),
        5 => "Informational (IKEv1)".to_owned(),
        6 => format!("Transaction {:08x}", header.message_id),
        32 => format!("Quick Mode {:08x}", header.message_id),
        33 => "New Group Mode".to_owned(),
        other => format!("IKEv1 exchange {other}"),
    }
}

impl IkeAnalyser {
    pub(super) fn ike1(
        &mut self,
        passed: &Passed,
        (header, bytes): (&Header, &[u8]),
        ike: &mut Ike,
        dissected: &mut Dissected,
        crypto: &mut dyn Crypto,
    ) {
        if header.flags.is_encrypted() {
            ike.inside = Inside::Sealed;
            self.open1(passed, (header, bytes), ike, dissected, crypto);
        } else {
            match Message::read(bytes) {
                Ok(message) => {
                    self.overheard(ike.spis).note(&message);
                    describe(&message.payloads, ike, dissected);
                }
                Err(error) => dissected.remarks.push(format!("MALFORMED: {error}")),
            }
        }
        dissected.failure = ike.meaning.error().map(|error| error.to_string());
    }

    fn open1(
        &mut self,
        passed: &Passed,
        message: (&Header, &[u8]),
        ike: &mut Ike,
        dissected: &mut Dissected,
        crypto: &mut dyn Crypto,
    ) {
        let Some(key) = self.keys.isakmp(ike.spis.0).cloned() else {
            dissected.parts.push(Part::bare("encrypted"));
            return;
        };
        // What never arrives moves nobody's IV.
        let mut overheard = std::mem::take(self.overheard(ike.spis));
        match overheard.open(message, &key, passed.arrives(), crypto) {
            Ok(opened) => {
                ike.inside = Inside::Opened;
                let located = opened.payloads().unwrap_or_default();
                let payloads: Vec<Payload<'_>> = located.iter().map(|located| located.payload).collect();
                describe(&payloads, ike, dissected);
            }
            Err(error) => {
                dissected.parts.push(Part::bare("encrypted"));
                if !matches!(error, NotOpened::NoPhase1) {
                    ike.inside = Inside::NotAuthentic;
                }
                dissected.remarks.push(format!("NOT OPENED: {error}"));
            }
        }
        *self.overheard(ike.spis) = overheard;
    }

    /// What is known of the ISAKMP SA with these cookies, and if it is new, of the offer that made it.
    fn overheard(&mut self, cookies: (u64, u64)) -> &mut Overheard {
        if !self.isakmp.contains_key(&cookies) {
            let offered = self.isakmp.get(&(cookies.0, 0)).cloned().unwrap_or_default();
            if self.isakmp.len() >= OPEN_MAX {
                self.isakmp.pop_first();
            }
            self.isakmp.insert(cookies, offered);
        }
        self.isakmp.entry(cookies).or_default()
    }
}

fn describe(payloads: &[Payload<'_>], ike: &mut Ike, dissected: &mut Dissected) {
    for payload in payloads {
        Arc::make_mut(&mut ike.meaning).add1(payload);
        dissected.parts.push(part(payload));
    }
}

impl Meaning {
    fn add1(&mut self, payload: &Payload<'_>) {
        self.parts.push(names::payload(payload.kind()));
        match payload {
            Payload::SecurityAssociation(sa) => self.add_sa1(sa),
            Payload::Identification(id) if !self.has_child => {
                self.identity = self.identity.take().or_else(|| Some(of_identity(id)));
            }
            Payload::Certificate(_) => self.certificates += 1,
            Payload::Hash(_) | Payload::Signature(_) => self.has_auth = true,
            Payload::Notify(notify) => self.notifies.push(notify.kind),
            Payload::Delete(delete) => {
                self.deletes.extend(delete.cookies().map(|_| Deleted::IkeSa));
                self.deletes.extend(delete.child_spis().map(Deleted::Child));
            }
            Payload::VendorId(id) => self.vendor = vendor(id).or(self.vendor),
            _ => {}
        }
    }

    fn add_sa1(&mut self, sa: &SecurityAssociation<'_>) {
        let Some(proposal) = sa.proposals().next() else { return };
        if proposal.protocol == ProtocolId::IKE {
            let mut methods = proposal.transforms().filter_map(|one| Phase1Transform::read(&one));
            self.proof = methods.next().map(|transform| transform.method);
            self.ike_suite = Some(words::transforms(sa));
        } else {
            self.child_spi = proposal.child_spi();
            (self.child_suite, self.has_child) = (Some(words::suites(sa)), true);
        }
    }
}

fn part(payload: &Payload<'_>) -> Part {
    let name = payload_name(payload.kind().0);
    match payload {
        Payload::SecurityAssociation(sa) => Part::new(name, words::transforms(sa)),
        Payload::Identification(id) => Part::new(name, of_identity(id)),
        Payload::Certificate(certificate) => {
            Part::new(name, format!("{} {} bytes", certificate.encoding.name(), certificate.data.len()))
        }
        Payload::Notify(notify) => Part::new(name, notify.kind.to_string()),
        Payload::Delete(delete) => Part::new(name, deleted(delete).collect::<Vec<_>>().join(" ")),
        Payload::VendorId(id) => Part::new(name, vendor(id).map_or_else(|| short_hex(id), str::to_owned)),
        Payload::OriginalAddress(address) => Part::new(name, address.0.to_string()),
        Payload::KeyExchange(_)
        | Payload::CertificateRequest(_)
        | Payload::Hash(_)
        | Payload::Signature(_)
        | Payload::Nonce(_)
        | Payload::NatDetection(_)
        | Payload::Unknown(..) => Part::bare(name),
    }
}

/// RFC 2407 §4.6.2: an identity, or the traffic that is meant.
fn of_identity(id: &Identification<'_>) -> String {
    let end = |kind, data| identity(&crate::wire::Identification { kind, data });
    let (first, second) = id.data.split_at(id.data.len() / 2);
    let subnet = |kind| {
        let prefix_bits: u32 = second.iter().map(|byte| byte.count_ones()).sum();
        format!("{}/{prefix_bits}", end(kind, first))
    };
    let range = |kind| format!("{}-{}", end(kind, first), end(kind, second));
    match id.kind {
        Identification::IPV4_SUBNET => subnet(IdKind::ID_IPV4_ADDR),
        Identification::IPV6_SUBNET => subnet(IdKind::ID_IPV6_ADDR),
        Identification::IPV4_RANGE => range(IdKind::ID_IPV4_ADDR),
        Identification::IPV6_RANGE => range(IdKind::ID_IPV6_ADDR),
        kind => end(kind, id.data),
    }
}

/// What a Delete payload ends.
fn deleted(delete: &Delete<'_>) -> impl Iterator<Item = String> {
    let protocol = delete.protocol;
    let children = delete.child_spis().map(move |spi| format!("{protocol} {spi:#010x}"));
    delete.cookies().map(|_| "IKE SA".to_owned()).chain(children)
}

/// The registry's name, and those of drafts that are still spoken.
fn payload_name(kind: u8) -> String {
    match (names::payload(PayloadType(kind)), kind) {
        (_, 14) => "ATTR".to_owned(),
        (_, 130) => "NAT-D".to_owned(),
        (_, 132) => "FRAG".to_owned(),
        (names::UNKNOWN_PAYLOAD, _) => format!("payload type {kind}"),
        (name, _) => name.to_string(),
    }
}

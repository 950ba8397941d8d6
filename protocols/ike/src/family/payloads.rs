//! IKEv2 payloads in words: RFC 7296 §3.3 to §3.16.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::Hash;
use keytoll_engine::trace::Name;
use keytoll_family::Part;
use keytoll_family::words::{printable, printable_within, short_hex};
use keytoll_net::Addr;

use crate::names;
use crate::number::{AttributeType, AuthMethod, HashId, IdKind, NotifyType, ProtocolId};
use crate::v1::number::AuthenticationMethod;
use crate::v2::words;
use crate::wire::{
    Configuration, Identification, KeyExchange, Notify, Payload, SecurityAssociation, Spi, TrafficSelectors,
};

/// What the payloads of a message mean to the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meaning {
    /// The notifications, in order.
    pub notifies: Vec<NotifyType>,
    /// The EAP packet; of a message that is filed, only its code.
    pub eap: Option<Vec<u8>>,
    /// IDi or IDr.
    pub identity: Option<String>,
    /// Whether the sender proves itself.
    pub has_auth: bool,
    /// How, in the AUTH payload of IKEv2.
    pub auth: Option<AuthMethod>,
    /// IKE suites offered, or the one chosen.
    pub ike_suite: Option<String>,
    /// The ESP suites of the first proposal, which is the one that was chosen if this is an answer.
    pub child_suite: Option<String>,
    /// Whether there is an SA payload for a child.
    pub has_child: bool,
    /// The sender's SPI in an SA payload for an IKE SA that replaces this one.
    pub new_ike_spi: Option<u64>,
    /// The sender's ESP SPI.
    pub child_spi: Option<u32>,
    /// What SAs end.
    pub deletes: Vec<Deleted>,
    /// The device's inner address.
    pub address: Option<IpAddr>,
    /// The certificate chain, DER.
    pub certificates: usize,
    /// A known implementation.
    pub vendor: Option<&'static str>,
    /// How both sides prove themselves: IKEv1 negotiates it.
    pub proof: Option<AuthenticationMethod>,
    /// The payloads' names in the order in which they were read, those inside encryption included, until the message is filed.
    pub parts: Vec<Name>,
}

/// What a DELETE ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// The IKE SA that it is protected by, or the ISAKMP SA with some cookies.
    IkeSa,
    /// The SA that its sender receives on with this SPI.
    Child(u32),
}

impl Meaning {
    /// Forgets what nobody asks for any more.
    pub(super) fn shrink(&mut self) {
        self.parts = Vec::new();
        if let Some(eap) = &mut self.eap {
            eap.truncate(1);
            eap.shrink_to_fit();
        }
    }

    /// The first notification that reports an error.
    pub fn error(&self) -> Option<NotifyType> {
        self.notifies.iter().copied().find(|notify| notify.is_error())
    }

    pub(super) fn add(&mut self, payload: &Payload<'_>) {
        self.parts.push(names::payload(payload.kind()));
        match payload {
            Payload::SecurityAssociation(sa) => self.add_sa(sa),
            Payload::IdInitiator(id) => self.identity = Some(identity(id)),
            Payload::IdResponder(id) => self.identity = self.identity.take().or_else(|| Some(identity(id))),
            Payload::Certificate(_) => self.certificates += 1,
            Payload::Authentication(auth) => {
                self.has_auth = true;
                self.auth.get_or_insert(auth.method);
            }
            Payload::Notify(notify) => self.notifies.push(notify.kind),
            Payload::Delete(delete) if delete.protocol == ProtocolId::IKE => {
                self.deletes.push(Deleted::IkeSa);
            }
            Payload::Delete(delete) => self.deletes.extend(delete.spis().map(Deleted::Child)),
            Payload::Configuration(config) => self.address = inner_address(config).or(self.address),
            Payload::Eap(eap) => self.eap = Some(eap.message.to_vec()),
            Payload::VendorId(id) => self.vendor = vendor(id.data).or(self.vendor),
            _ => {}
        }
    }

    fn add_sa(&mut self, sa: &SecurityAssociation<'_>) {
        for proposal in sa.proposals() {
            match proposal.spi {
                Spi::Ike(spi) => self.new_ike_spi = Some(spi),
                Spi::Child(spi) => self.child_spi = Some(spi),
                _ => {}
            }
        }
        let is_ike = sa.proposals().next().is_some_and(|proposal| proposal.protocol == ProtocolId::IKE);
        if is_ike {
            self.ike_suite = Some(words::proposals(sa));
        } else {
            (self.child_suite, self.has_child) = (words::first_suite(sa), true);
        }
    }
}

/// Whose addresses NAT detection is checked against, and under which SPIs.
pub(super) struct Seen {
    pub(super) from: Addr,
    pub(super) to: Addr,
    pub(super) spis: (u64, u64),
}

/// A payload in words.
pub(super) fn part(payload: &Payload<'_>, seen: &Seen, crypto: &mut dyn Crypto) -> Part {
    let name = payload.kind().abbreviation();
    match payload {
        Payload::SecurityAssociation(sa) => Part::new(name, words::proposals(sa)),
        Payload::KeyExchange(ke) => Part::new(name, group(ke)),
        Payload::IdInitiator(id) | Payload::IdResponder(id) => Part::new(name, identity(id)),
        Payload::Certificate(certificate) => {
            Part::new(name, format!("{} {} bytes", certificate.encoding.name(), certificate.data.len()))
        }
        Payload::CertificateRequest(request) => Part::new(name, authorities(request.authorities().count())),
        Payload::Authentication(auth) => Part::new(name, auth.method.to_string()),
        Payload::Nonce(_) => Part::bare(name),
        Payload::Notify(notify) => Part::new(name, self::notify(notify, seen, crypto)),
        Payload::Delete(delete) if delete.protocol == ProtocolId::IKE => Part::new(name, "IKE SA"),
        Payload::Delete(delete) => {
            let spis = delete.spis().map(|spi| format!("{spi:#010x}")).collect::<Vec<_>>().join(" ");
            Part::new(name, format!("{} {spis}", delete.protocol))
        }
        Payload::VendorId(id) => {
            Part::new(name, vendor(id.data).map_or_else(|| short_hex(id.data), str::to_owned))
        }
        Payload::SelectorsInitiator(selectors) | Payload::SelectorsResponder(selectors) => {
            Part::new(name, self::selectors(selectors))
        }
        Payload::Encrypted(_) => Part::new(name, "encrypted"),
        Payload::EncryptedFragment(part) => Part::new(name, format!("{} of {}", part.number, part.total)),
        Payload::Configuration(config) => Part::new(name, configuration(config)),
        Payload::Eap(_) => Part::carried("EAP", ""),
        Payload::Unknown(unknown) => {
            let critical = if unknown.critical { ", critical" } else { "" };
            Part::new("payload", format!("type {}{critical}", unknown.kind.0))
        }
    }
}

fn authorities(count: usize) -> String {
    if count == 1 { "1 authority".to_owned() } else { format!("{count} authorities") }
}

fn group(ke: &KeyExchange<'_>) -> String {
    words::group(ke.group)
}

/// An identity as people write it.
pub(super) fn identity(id: &Identification<'_>) -> String {
    match (id.kind, id.data.len()) {
        (IdKind::ID_IPV4_ADDR, 4) | (IdKind::ID_IPV6_ADDR, 16) => {
            address(id.data).map_or_else(|| short_hex(id.data), |ip| ip.to_string())
        }
        (IdKind::ID_FQDN | IdKind::ID_RFC822_ADDR, _) => printable(id.data),
        (IdKind::ID_DER_ASN1_DN, _) => named(id),
        (IdKind::ID_KEY_ID, _) => format!("key id {}", short_hex(id.data)),
        (kind, _) => kind.to_string(),
    }
}

/// A distinguished name; of nonsense the beginning.
fn named(id: &Identification<'_>) -> String {
    const CHARS_MAX: usize = 256;
    let name = id.to_identity().to_string();
    if name.starts_with("asn1dn:#") {
        return format!("asn1dn:#{}", short_hex(id.data));
    }
    printable_within(name.as_bytes(), CHARS_MAX)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(bytes).ok().map(|octets| Ipv4Addr::from(octets).into());
    let v6 = || <[u8; 16]>::try_from(bytes).ok().map(|octets| Ipv6Addr::from(octets).into());
    v4().or_else(v6)
}

fn notify(notify: &Notify<'_>, seen: &Seen, crypto: &mut dyn Crypto) -> String {
    let name = notify.kind.to_string();
    let detail = match notify.kind {
        NotifyType::INVALID_KE_PAYLOAD => notify
            .data
            .try_into()
            .ok()
            .map(|number| format!("wants {}", words::group(u16::from_be_bytes(number)))),
        NotifyType::REKEY_SA | NotifyType::CHILD_SA_NOT_FOUND | NotifyType::INVALID_SPI => {
            notify.spi.try_into().ok().map(|spi| format!("{:#010x}", u32::from_be_bytes(spi)))
        }
        NotifyType::AUTH_LIFETIME => {
            notify.data.try_into().ok().map(|seconds| format!("{} s", u32::from_be_bytes(seconds)))
        }
        NotifyType::SIGNATURE_HASH_ALGORITHMS => Some(hashes(notify.data)),
        NotifyType::NAT_DETECTION_SOURCE_IP => nat(notify.data, seen.from, seen, crypto),
        NotifyType::NAT_DETECTION_DESTINATION_IP => nat(notify.data, seen.to, seen, crypto),
        _ => None,
    };
    detail.map_or_else(|| name.clone(), |detail| format!("{name}: {detail}"))
}

fn hashes(data: &[u8]) -> String {
    let numbers = data.chunks_exact(2).map(|pair| HashId(u16::from_be_bytes([pair[0], pair[1]])));
    numbers.take(8).map(|hash| hash.name().to_lowercase()).collect::<Vec<_>>().join(" ")
}

/// RFC 7296 §2.23: SHA-1 of SPIs, address and port. What differs was translated on the way, or is meant to look like it.
fn nat(data: &[u8], addr: Addr, seen: &Seen, crypto: &mut dyn Crypto) -> Option<String> {
    let (spi_i, spi_r) = (seen.spis.0.to_be_bytes(), seen.spis.1.to_be_bytes());
    let socket = addr.socket()?;
    let ip = match socket.ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let digest = crypto.hash(Hash::Sha1, &[&spi_i, &spi_r, &ip, &socket.port.to_be_bytes()]);
    (digest[..] != *data).then(|| format!("not {addr}, so NAT"))
}

fn selectors(selectors: &TrafficSelectors<'_>) -> String {
    let shown: Vec<String> = selectors.selectors().take(4).map(|selector| selector.to_string()).collect();
    let more = selectors.selectors().count().saturating_sub(4);
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}

fn configuration(config: &Configuration<'_>) -> String {
    let attributes = config.attributes().take(8).map(|attribute| {
        let name = attribute.kind.name().trim_start_matches("INTERNAL_").to_owned();
        let name =
            if attribute.kind.is_registered() { name } else { format!("attribute {}", attribute.kind.0) };
        match address(attribute.value) {
            Some(address) => format!("{name} {address}"),
            None => name,
        }
    });
    let attributes = attributes.collect::<Vec<_>>().join(" ");
    format!("{} {attributes}", config.kind.name().trim_start_matches("CFG_")).trim_end().to_owned()
}

fn inner_address(config: &Configuration<'_>) -> Option<IpAddr> {
    config.attributes().find_map(|attribute| match attribute.kind {
        AttributeType::INTERNAL_IP4_ADDRESS => attribute.ipv4().map(IpAddr::from),
        AttributeType::INTERNAL_IP6_ADDRESS => attribute.ipv6().map(|(address, _)| address.into()),
        _ => None,
    })
}

/// Vendor IDs of the implementations that people meet most. They are digests or texts that their authors chose.
pub(super) fn vendor(data: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 10] = [
        (b"\x88\x2f\xe5\x6d\x6f\xd2\x0d\xbc\x22\x51\x61\x3b\x2e\xbe\x5b\xeb", "strongSwan"),
        (b"CISCO-DELETE-REASON", "Cisco, delete reason"),
        (b"CISCO(COPYRIGHT)", "Cisco"),
        (b"FLEXVPN-SUPPORTED", "Cisco FlexVPN"),
        (b"\x1e\x2b\x51\x69\x05\x99\x1c\x7d\x7c\x96\xfc\xbf\xb5\x87\xe4\x61", "Microsoft, MS NT5"),
        (b"\x4f\x45\x2d\x4c\x69\x62\x72\x65\x73\x77\x61\x6e", "Libreswan"),
        (b"OpenIKED", "OpenIKED"),
        (b"\xaf\xca\xd7\x13\x68\xa1\xf1\xc9\x6b\x86\x96\xfc\x77\x57", "dead peer detection"),
        (b"\x40\x48\xb7\xd5\x6e\xbc\xe8\x85\x25\xe7\xde\x7f\x00\xd6\xc2\xd3", "fragmentation of IKEv1"),
        (b"\x4a\x13\x1c\x81\x07\x03\x58\x45\x5c\x57\x28\xf2\x0e\x95\x45\x2f", "NAT traversal of RFC 3947"),
    ];
    KNOWN.iter().find(|(id, _)| data.starts_with(id)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distinguished_name_is_text_and_nonsense_is_short() {
        let shown = |data: &[u8]| identity(&Identification { kind: IdKind::ID_DER_ASN1_DN, data });
        let name = b"\x30\x1a\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02XX\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02gw";
        assert_eq!(shown(name), "asn1dn:C=XX, CN=gw");
        assert_eq!(shown(&name[..27]), "asn1dn:#301a310b30090603..");
        assert_eq!(shown(&[0x30, 5]), "asn1dn:#3005");
        assert_eq!(shown(&[]), "asn1dn:#");
    }
}

//! What a datagram says to somebody who only watches: the facts that its sender would have left, for senders that leave
//! none. Read RFC 7296 §3.1, RFC 2865 §3, RFC 6733 §3.
//!
//! ```text
//!   Datagram --message()--> trace::Message --Observer, which remembers what it saw--> Fact::Sent, Fact::Carried
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_diameter::DIAMETER;
use keytoll_engine::Datagram;
use keytoll_engine::trace::{Fact, Fate, Link, Message, Parts, Protocol};
use keytoll_ike::IKE;
use keytoll_ike::names;
use keytoll_ike::wire as ike;
use keytoll_net::OnWire;
use keytoll_net::wire::{DecodeError, Reader};
use keytoll_radius::RADIUS;
use keytoll_radius::wire as radius;

/// RFC 7296 §2.23, RFC 3948 §2.2: four zero bytes where ESP has its SPI.
pub const NON_ESP_MARKER: [u8; 4] = [0; 4];

/// More messages than this are not remembered; the oldest is forgotten first.
const MEMORY_MAX: usize = 65_536;

/// Watches datagrams go by and tells repeated messages from new ones. What it keeps is bounded.
#[derive(Debug, Default)]
pub struct Observer {
    seen: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Observer {
    /// The facts of a datagram that its sender hands to `link`: what was sent, if it is a message of a protocol that knows
    /// messages, and what was carried. How long it takes and whether it arrives is not known here: `transit_ns` is 0 and
    /// the fate `Delivered`.
    pub fn observe(&mut self, datagram: &Datagram, link: Link, mtu_bytes: u16) -> Vec<Fact> {
        let sent = self.sent(datagram).map(Fact::Sent);
        let carried =
            OnWire::of(datagram.to, datagram.bytes.len(), mtu_bytes).map(|OnWire { packets, bytes }| {
                Fact::Carried {
                    link,
                    protocol: datagram.protocol,
                    packets,
                    bytes,
                    transit_ns: 0,
                    fate: Fate::Delivered,
                }
            });
        sent.into_iter().chain(carried).collect()
    }

    /// The message of a datagram, if it can be read, and whether the same was sent before.
    pub fn sent(&mut self, datagram: &Datagram) -> Option<Message> {
        let message = message(datagram.protocol, &datagram.bytes).ok()?;
        Some(Message { retransmission: self.is_known(datagram), ..message })
    }

    /// Whether the same bytes took the same way before; if not, they are remembered.
    fn is_known(&mut self, datagram: &Datagram) -> bool {
        let digest = digest(datagram);
        if !self.seen.insert(digest) {
            return true;
        }
        self.order.push_back(digest);
        if self.order.len() > MEMORY_MAX {
            let oldest = self.order.pop_front();
            oldest.inspect(|oldest| _ = self.seen.remove(oldest));
        }
        false
    }
}

/// What tells a message from others, and not from the same one sent again.
pub(crate) fn digest(datagram: &Datagram) -> u64 {
    let mut hasher = DefaultHasher::new();
    match datagram.protocol {
        // RFC 3947 §4, RFC 7296 §2.23: IKE moves to the port of NAT traversal, and a NAT changes ports; it is the same message.
        IKE => {
            let (from, to) = (datagram.from, datagram.to);
            (from.host(), to.host(), from.host() == to.host() && from.port() < to.port()).hash(&mut hasher);
        }
        _ => (datagram.from, datagram.to).hash(&mut hasher),
    }
    hash_message(datagram, &mut hasher);
    hasher.finish()
}

fn hash_message(datagram: &Datagram, hasher: &mut DefaultHasher) {
    match (datagram.protocol, datagram.bytes.get(DIAMETER_FLAGS_AT)) {
        // RFC 6733 §3: the T flag is set on a request that is sent again, nothing else changes.
        (DIAMETER, Some(flags)) => {
            datagram.bytes[..DIAMETER_FLAGS_AT].hash(hasher);
            (flags & !keytoll_diameter::wire::message::RETRANSMITTED).hash(hasher);
            datagram.bytes[DIAMETER_FLAGS_AT + 1..].hash(hasher);
        }
        (IKE, _) => without_marker(&datagram.bytes).hash(hasher),
        _ => datagram.bytes.hash(hasher),
    }
}

const DIAMETER_FLAGS_AT: usize = 4;

/// What the records say of a message on the wire, as far as its outside tells it. Protocols without messages of their own
/// (ESP, ICMP) have none.
pub fn message(protocol: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
    match protocol {
        IKE => ike_message(without_marker(bytes)),
        RADIUS => radius_message(bytes),
        DIAMETER => diameter_message(bytes),
        _ => Err(Reader::new(bytes).error("protocol", keytoll_net::wire::Problem::Missing)),
    }
}

/// The IKE message of a datagram, which on port 4500 (or any other that a configuration gives that role) has a marker in
/// front. No initiator SPI is 0, so a message that begins with four zeros and does not have the datagram's length is marked.
pub fn without_marker(bytes: &[u8]) -> &[u8] {
    let is_bare = ike::Header::read(&mut Reader::new(bytes)).is_ok();
    bytes.strip_prefix(&NON_ESP_MARKER).filter(|_| !is_bare).unwrap_or(bytes)
}

fn ike_message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let header = ike::Header::read(&mut Reader::new(bytes))?;
    let mut parts = Parts::default();
    let mut fragment = 0;
    // A payload that cannot be read makes no message unsent.
    for payload in ike::Message::read(bytes).map(|message| message.payloads).unwrap_or_default() {
        parts.push(names::payload(payload.kind()));
        if let ike::Payload::EncryptedFragment(part) = payload {
            fragment = part.number;
        }
    }
    Ok(Message {
        id: header.message_id,
        bytes: header.length,
        fragment,
        parts,
        ..names::message(header.exchange, header.flags.is_response())
    })
}

fn radius_message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let packet = radius::Packet::read(bytes)?;
    let attributes = packet.attributes.iter().map(|attribute| attribute.kind());
    Ok(keytoll_radius::names::message(packet.code, packet.identifier, packet.bytes().len(), attributes))
}

fn diameter_message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let header = keytoll_diameter::wire::Message::read(bytes)?.header;
    Ok(keytoll_diameter::names::message(&header, bytes.len()))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use keytoll_diameter::wire::{Builder, message::REQUEST, message::RETRANSMITTED};
    use keytoll_engine::trace::{Name, Node};
    use keytoll_ike::number::ExchangeType;
    use keytoll_ike::wire::{Flags, Header, MessageBuilder, Nonce, Payload};
    use keytoll_net::Addr;
    use proptest::prelude::*;

    use super::*;

    const LINK: Link = Link(Node::Ue, Node::Gw);

    fn datagram(protocol: Protocol, at: fn(IpAddr, u16) -> Addr, bytes: Vec<u8>) -> Datagram {
        let addr = |port| at([10, 0, 0, 1].into(), port);
        Datagram { protocol, from: addr(500), to: addr(4500), bytes }
    }

    fn sa_init(nonce: u8) -> Vec<u8> {
        let header = Header::new((1, 0), ExchangeType::IKE_SA_INIT, Flags::INITIATOR, 0);
        let mut message = MessageBuilder::plain(&header);
        message.push(&Payload::Nonce(Nonce { data: &[nonce; 16] }));
        message.finish()
    }

    fn sent(observer: &mut Observer, datagram: &Datagram) -> Message {
        match &observer.observe(datagram, LINK, 1500)[..] {
            [Fact::Sent(message), Fact::Carried { .. }] => message.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_ike_message_with_and_without_marker_is_the_same_message() {
        let mut observer = Observer::default();
        let marked = [&NON_ESP_MARKER[..], &sa_init(7)].concat();
        let [bare, marked] = [sa_init(7), marked].map(|bytes| datagram(IKE, Addr::udp, bytes));
        let facts = observer.observe(&bare, LINK, 1500);
        let parts = [Name::new(&"Nonce")].into_iter().collect();
        let message = Message { bytes: 48, parts, ..names::message(ExchangeType::IKE_SA_INIT, false) };
        let carried = Fact::Carried {
            link: LINK,
            protocol: IKE,
            packets: 1,
            bytes: 48 + 28,
            transit_ns: 0,
            fate: Fate::Delivered,
        };
        assert_eq!(facts, [Fact::Sent(message.clone()), carried]);
        assert_eq!(sent(&mut Observer::default(), &marked), message);
        // RFC 3947 §4: said again at another port it is the same message.
        assert_eq!(sent(&mut observer, &marked), Message { retransmission: true, ..message });
    }

    #[test]
    fn the_same_bytes_again_are_a_retransmission_other_bytes_are_not() {
        let mut observer = Observer::default();
        let message = |nonce| datagram(IKE, Addr::udp, sa_init(nonce));
        let seen = [1, 1, 2, 1, 2].map(|nonce| sent(&mut observer, &message(nonce)).retransmission);
        assert_eq!(seen, [false, true, false, true, true]);
    }

    #[test]
    fn a_diameter_request_sent_again_differs_by_one_flag() {
        let mut observer = Observer::default();
        let request = |flags, hop_by_hop| {
            let header = keytoll_diameter::wire::Header {
                flags,
                command: 303,
                application: 0,
                hop_by_hop,
                end_to_end: 9,
            };
            datagram(DIAMETER, Addr::tcp, Builder::new(header).finish())
        };
        let requests = [(REQUEST, 1), (REQUEST | RETRANSMITTED, 1), (REQUEST, 2)];
        let seen = requests.map(|(flags, hop)| sent(&mut observer, &request(flags, hop)));
        assert_eq!(seen.each_ref().map(|message| message.retransmission), [false, true, false]);
        assert_eq!((seen[0].name.as_str(), seen[0].id, seen[2].id), ("MAR", 1, 2));
    }

    #[test]
    fn what_is_no_message_is_carried_all_the_same() {
        let esp = datagram(Protocol::ESP, Addr::udp, vec![1; 100]);
        let facts = Observer::default().observe(&esp, LINK, 1500);
        assert!(matches!(facts[..], [Fact::Carried { packets: 1, bytes: 128, .. }]), "{facts:?}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut observer = Observer::default();
        for number in 0..MEMORY_MAX as u32 + 10 {
            let mut bytes = sa_init(0);
            bytes[4..8].copy_from_slice(&number.to_be_bytes());
            sent(&mut observer, &datagram(IKE, Addr::udp, bytes));
        }
        assert_eq!((observer.seen.len(), observer.order.len()), (MEMORY_MAX, MEMORY_MAX));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, which in 0_usize..3) {
            let protocol = [IKE, RADIUS, DIAMETER][which];
            let message = message(protocol, &bytes);
            prop_assert!(message.is_err() || bytes.len() >= 20);
        }
    }
}

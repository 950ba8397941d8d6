//! Derives facts from datagrams, for senders that record none. Each family decodes its own messages.
//!
//! ```text
//!   Datagram --message()--> trace::Message --Observer, which remembers what it saw--> Fact::Sent, Fact::Carried
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_engine::Datagram;
use keytoll_engine::trace::{Fact, Fate, Link, Message, Protocol};
use keytoll_family::{Families, family};
use keytoll_net::OnWire;

/// The limit on remembered messages; the oldest is dropped first.
const MEMORY_MAX: usize = 65_536;

/// Observes datagrams and distinguishes retransmissions from new messages. Its memory is limited.
pub struct Observer {
    families: Families,
    seen: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observer({} messages)", self.seen.len())
    }
}

impl Observer {
    /// An observer of the messages of these families.
    pub const fn new(families: Families) -> Self {
        Self { families, seen: BTreeSet::new(), order: VecDeque::new() }
    }

    /// The facts of a datagram that its sender passes to `link`: the sent message, if the protocol has messages, and the carried
    /// packet. Transit time and fate are unknown here: `transit_ns` is 0 and the fate `Delivered`.
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

    /// The message of a datagram, if it can be decoded, and whether it is a retransmission.
    pub fn sent(&mut self, datagram: &Datagram) -> Option<Message> {
        let message = message(self.families, datagram.protocol, &datagram.bytes)?;
        Some(Message { retransmission: self.is_known(datagram), ..message })
    }

    /// Whether the same bytes had the same source and destination before; if not, they are remembered.
    fn is_known(&mut self, datagram: &Datagram) -> bool {
        let digest = digest(self.families, datagram);
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

/// A digest that is equal for a message and its retransmissions only.
pub fn digest(families: Families, datagram: &Datagram) -> u64 {
    let mut hasher = DefaultHasher::new();
    match family::of(families, datagram.protocol) {
        Some(family) => family.hash(datagram, &mut hasher),
        None => (datagram.from, datagram.to, &datagram.bytes).hash(&mut hasher),
    }
    hasher.finish()
}

/// The number of the conversation that a datagram belongs to, if its family has such numbers.
pub fn conversation(families: Families, datagram: &Datagram) -> Option<u64> {
    family::of(families, datagram.protocol)?.conversation(&datagram.bytes)
}

/// The record of a message, as far as its unencrypted part shows; `None` if it is no message of a family, and for
/// protocols without messages (ESP, ICMP).
pub fn message(families: Families, protocol: Protocol, bytes: &[u8]) -> Option<Message> {
    family::of(families, protocol)?.message(protocol, bytes).ok()
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

    use keytoll_diameter::DIAMETER;
    use keytoll_ike::family::NON_ESP_MARKER;
    use keytoll_ike::{IKE, names};
    use keytoll_radius::RADIUS;
    use keytoll_rigs::FAMILIES;

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
        let mut observer = Observer::new(FAMILIES);
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
        assert_eq!(sent(&mut Observer::new(FAMILIES), &marked), message);
        // RFC 3947 §4: a retransmission to another port is the same message.
        assert_eq!(sent(&mut observer, &marked), Message { retransmission: true, ..message });
    }

    #[test]
    fn only_the_same_bytes_are_a_retransmission() {
        let mut observer = Observer::new(FAMILIES);
        let message = |nonce| datagram(IKE, Addr::udp, sa_init(nonce));
        let seen = [1, 1, 2, 1, 2].map(|nonce| sent(&mut observer, &message(nonce)).retransmission);
        assert_eq!(seen, [false, true, false, true, true]);
    }

    #[test]
    fn a_retransmitted_diameter_request_differs_by_one_flag() {
        let mut observer = Observer::new(FAMILIES);
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
    fn a_datagram_that_is_no_message_is_carried_nevertheless() {
        let esp = datagram(Protocol::ESP, Addr::udp, vec![1; 100]);
        let facts = Observer::new(FAMILIES).observe(&esp, LINK, 1500);
        assert!(matches!(facts[..], [Fact::Carried { packets: 1, bytes: 128, .. }]), "{facts:?}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut observer = Observer::new(FAMILIES);
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
            let message = message(FAMILIES, protocol, &bytes);
            prop_assert!(message.is_none() || bytes.len() >= 20);
        }
    }
}

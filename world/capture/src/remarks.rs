//! Comments on the packets of a capture: the message, its authentication, whether it is a retransmission, and its fate.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use keytoll_trace::{Fact, Fate, Message, Node, Protocol};

use crate::passage::Passage;

/// The limit on messages of a node that have not passed a link yet.
const WAITING_MAX: usize = 64;

/// Follows the facts of a run to identify datagrams.
#[derive(Debug, Default)]
pub struct Remarks {
    senders: BTreeMap<Node, Sender>,
}

/// The sent messages of a node.
#[derive(Debug, Default)]
struct Sender {
    /// Messages recorded as sent that have not passed a link yet, oldest first.
    waiting: VecDeque<Message>,
    /// Whether a datagram has passed since the last record.
    passing: bool,
}

impl Remarks {
    /// Takes a fact of a node. [`Fact::Sent`] precedes the datagrams of its message.
    pub fn note(&mut self, node: Node, fact: &Fact) {
        let Fact::Sent(message) = fact else { return };
        let sender = self.senders.entry(node).or_default();
        // Messages that did not pass with the others had no route.
        if std::mem::take(&mut sender.passing) || sender.waiting.len() >= WAITING_MAX {
            sender.waiting.clear();
        }
        sender.waiting.push_back(message.clone());
    }

    /// The comment on a datagram.
    pub fn remark(
        &mut self,
        node: Node,
        sample: u32,
        protocol: Protocol,
        fate: Fate,
        transit: Duration,
    ) -> String {
        let named = self.named(node, protocol, fate);
        format!("authentication {sample}, {named}{}", Passage { fate, transit })
    }

    /// A copy is identified by its protocol only.
    fn named(&mut self, node: Node, protocol: Protocol, fate: Fate) -> String {
        if fate == Fate::Duplicate { protocol.name().to_owned() } else { self.name(node, protocol) }
    }

    /// The oldest waiting message of this protocol, which is the one that passes; without one, the protocol.
    pub fn name(&mut self, node: Node, protocol: Protocol) -> String {
        let anonymous = || protocol.name().to_owned();
        let Some(sender) = self.senders.get_mut(&node) else { return anonymous() };
        sender.passing = true;
        let at = sender.waiting.iter().position(|message| message.protocol == protocol);
        at.and_then(|at| sender.waiting.remove(at)).map_or_else(anonymous, |message| described(&message))
    }
}

/// `IKE_AUTH request 1 (IDi AUTH SA TSi TSr), fragment 2, sent again`
fn described(message: &Message) -> String {
    let mut text = format!("{} {}", message.name, message.id);
    if !message.parts.as_slice().is_empty() {
        write!(text, " ({})", message.parts).expect("a string takes everything");
    }
    if message.fragment > 0 {
        write!(text, ", fragment {}", message.fragment).expect("a string takes everything");
    }
    if message.retransmission {
        text.push_str(", sent again");
    }
    text
}

#[cfg(test)]
mod tests {
    use keytoll_ike::IKE;
    use keytoll_radius::RADIUS;
    use keytoll_trace::Name;

    use super::*;

    fn sent(protocol: Protocol, name: Name, fragment: u16, retransmission: bool) -> Fact {
        let parts = [Name::new(&"SA")].into_iter().collect();
        Fact::Sent(Message {
            id: 7,
            bytes: 100,
            retransmission,
            fragment,
            parts,
            ..Message::new(protocol, name)
        })
    }

    fn remark(remarks: &mut Remarks, protocol: Protocol, fate: Fate) -> String {
        remarks.remark(Node::Ue, 3, protocol, fate, Duration::from_millis(12))
    }

    #[test]
    fn messages_are_named_in_the_order_they_were_sent() {
        let mut remarks = Remarks::default();
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_AUTH request"), 0, true));
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_AUTH request"), 2, true));
        assert_eq!(
            remark(&mut remarks, IKE, Fate::Delivered),
            "authentication 3, IKE_AUTH request 7 (SA), sent again, arrives after 12ms"
        );
        assert_eq!(
            remark(&mut remarks, IKE, Fate::Lost),
            "authentication 3, IKE_AUTH request 7 (SA), fragment 2, sent again, LOST after 12ms"
        );
        assert_eq!(
            remark(&mut remarks, Protocol::ESP, Fate::QueueFull),
            "authentication 3, esp, DROPPED: the queue is full"
        );
    }

    #[test]
    fn a_message_that_never_passed_names_no_later_packet() {
        let mut remarks = Remarks::default();
        remarks.note(Node::Ue, &sent(RADIUS, Name::new(&"Access-Request"), 0, false));
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_SA_INIT request"), 0, false));
        remark(&mut remarks, IKE, Fate::Delivered);
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_AUTH request"), 0, false));
        assert!(remark(&mut remarks, RADIUS, Fate::Delivered).contains(", radius,"));
        assert!(remark(&mut remarks, IKE, Fate::Delivered).contains("IKE_AUTH"));
    }

    #[test]
    fn a_copy_takes_no_name_of_a_waiting_message() {
        let mut remarks = Remarks::default();
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_SA_INIT request"), 0, false));
        assert!(remark(&mut remarks, IKE, Fate::Duplicate).contains(", ike, a copy"));
        assert!(remark(&mut remarks, IKE, Fate::Delivered).contains("IKE_SA_INIT"));
    }
}

//! What a capture says of a packet beyond its bytes: which message it is, of which authentication, whether it was sent
//! before, and what becomes of it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use keytoll_trace::{Fact, Fate, Message, Node, Protocol};

use crate::passage::Passage;

/// Messages of a node that have not passed yet; more are not waited for.
const WAITING_MAX: usize = 64;

/// Follows the facts of a run, so that datagrams can be told from each other.
#[derive(Debug, Default)]
pub struct Remarks {
    senders: BTreeMap<Node, Sender>,
}

/// What a node has sent.
#[derive(Debug, Default)]
struct Sender {
    /// What it noted as sent and has not passed a link yet, oldest first.
    waiting: VecDeque<Message>,
    /// Since it last noted anything, something of it has passed.
    passing: bool,
}

impl Remarks {
    /// Takes a fact of a node. Messages come as [`Fact::Sent`] before their datagrams pass.
    pub fn note(&mut self, node: Node, fact: &Fact) {
        let Fact::Sent(message) = fact else { return };
        let sender = self.senders.entry(node).or_default();
        // What did not pass with the rest had no way to go.
        if std::mem::take(&mut sender.passing) || sender.waiting.len() >= WAITING_MAX {
            sender.waiting.clear();
        }
        sender.waiting.push_back(message.clone());
    }

    /// What is known of a datagram that passes.
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

    /// A copy is named after the protocol only.
    fn named(&mut self, node: Node, protocol: Protocol, fate: Fate) -> String {
        if fate == Fate::Duplicate { protocol.name().to_owned() } else { self.name(node, protocol) }
    }

    /// The oldest message of this protocol, which is the one that passes; if there is none, the protocol.
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
    fn what_never_passed_names_nothing_later() {
        let mut remarks = Remarks::default();
        remarks.note(Node::Ue, &sent(RADIUS, Name::new(&"Access-Request"), 0, false));
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_SA_INIT request"), 0, false));
        remark(&mut remarks, IKE, Fate::Delivered);
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_AUTH request"), 0, false));
        assert!(remark(&mut remarks, RADIUS, Fate::Delivered).contains(", radius,"));
        assert!(remark(&mut remarks, IKE, Fate::Delivered).contains("IKE_AUTH"));
    }

    #[test]
    fn a_copy_takes_no_name_from_a_message_that_is_still_to_pass() {
        let mut remarks = Remarks::default();
        remarks.note(Node::Ue, &sent(IKE, Name::new(&"IKE_SA_INIT request"), 0, false));
        assert!(remark(&mut remarks, IKE, Fate::Duplicate).contains(", ike, a copy"));
        assert!(remark(&mut remarks, IKE, Fate::Delivered).contains("IKE_SA_INIT"));
    }
}

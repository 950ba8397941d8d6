//! By which facts it is known that a server has looked up somebody in its store: one for each conversation or question.

use keytoll_diameter::DIAMETER;
use keytoll_engine::trace::{Fact, Message, Node};
use keytoll_radius::RADIUS;

/// The messages of connections, for which nobody is looked up.
const OF_CONNECTIONS: [&str; 3] = ["CEA", "DWA", "DPA"];

/// Whether a server looks up somebody in the step in which it records this: an AAA server once for each conversation, at its end, an
/// HSS for each question.
pub fn looks_up(node: Node, fact: &Fact) -> bool {
    let Fact::Sent(Message { protocol, name, response: true, retransmission: false, .. }) = fact else {
        return false;
    };
    match node {
        Node::Aaa if *protocol == RADIUS => {
            ["Access-Accept", "Access-Reject"].contains(&name.to_string().as_str())
        }
        Node::Hss if *protocol == DIAMETER => !OF_CONNECTIONS.contains(&name.to_string().as_str()),
        _ => false,
    }
}

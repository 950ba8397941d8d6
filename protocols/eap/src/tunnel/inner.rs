//! EAP inside a tunnel, on the peer: one method, in lock step, without Success at the end.
//! Read RFC 5281 §11.2.1 first.
//!
//! [`crate::Peer`] waits for a Success; inside TTLS and PEAP there is none, so the method's own satisfaction counts.

use crate::method::{Keys, PeerMethod, PeerOffer, PeerStep, Reason, Turn};
use crate::packet::{Message, MethodType, Packet, nak_data, response};

/// The peer of one inner conversation.
pub(crate) struct InnerPeer {
    kind: MethodType,
    method: Box<dyn PeerMethod>,
    identity: Vec<u8>,
}

/// The result of a packet.
pub(crate) enum InnerStep {
    /// Send this; with keys if the method is then satisfied.
    Send(Vec<u8>, Option<Keys>),
    /// It failed; with the data that it still sends.
    Failed(Vec<u8>, Reason),
}

impl InnerPeer {
    pub(crate) fn new(offer: &dyn PeerOffer, identity: &[u8]) -> Self {
        Self { kind: offer.method(), method: offer.begin(), identity: identity.to_vec() }
    }

    /// The unrequested Identity response with which TTLS starts.
    pub(crate) fn identity_response(&self) -> Vec<u8> {
        response(0, MethodType::IDENTITY, &self.identity)
    }

    /// Takes a packet of the server's.
    pub(crate) fn take(&mut self, packet: &[u8], turn: &mut Turn<'_, '_>) -> InnerStep {
        match Packet::read(packet) {
            Ok(Packet::Request(request)) => self.on_request(&request, turn),
            Ok(Packet::Failure(_)) => InnerStep::Failed(vec![], Reason::REFUSED),
            _ => InnerStep::Failed(vec![], Reason("EAP malformed inside the tunnel")),
        }
    }

    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> InnerStep {
        let answer = |kind, data: &[u8]| response(request.identifier, kind, data);
        match request.kind {
            MethodType::IDENTITY => InnerStep::Send(answer(MethodType::IDENTITY, &self.identity), None),
            MethodType::NOTIFICATION => InnerStep::Send(answer(MethodType::NOTIFICATION, &[]), None),
            kind if kind == self.kind => self.on_method(request, turn),
            _ => InnerStep::Send(answer(MethodType::NAK, &nak_data(std::iter::once(self.kind))), None),
        }
    }

    fn on_method(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> InnerStep {
        let answer = |data: &[u8]| response(request.identifier, request.kind, data);
        let mut inner = Turn {
            identifier: request.identifier,
            identity: &self.identity,
            rng: &mut *turn.rng,
            cx: &mut *turn.cx,
        };
        match self.method.on_request(request, &mut inner) {
            PeerStep::Continue(data) => InnerStep::Send(answer(&data), None),
            PeerStep::Satisfied(data, keys) => InnerStep::Send(answer(&data), Some(keys)),
            // In lock step and under integrity protection no better packet can come.
            PeerStep::Ignore(why) => InnerStep::Failed(vec![], Reason(why)),
            PeerStep::Failed(data, reason) => {
                InnerStep::Failed(data.map_or_else(Vec::new, |data| answer(&data)), reason)
            }
        }
    }
}

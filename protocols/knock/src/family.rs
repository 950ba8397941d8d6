//! How captures know Knock: by its IP protocol number. Its two messages say all there is to say, so the analyser is the one
//! of simple families.

use keytoll_engine::trace::{Message as Sent, Node, Protocol};
use keytoll_family::simple::{End, Requests, Said};
use keytoll_family::{Analyser, Family, Kind as About, Part, Simple, Tables, keys::hex};
use keytoll_net::wire::DecodeError;

use crate::wire::{Kind, Message};
use crate::{KNOCK, NUMBER, names};

/// The family.
#[derive(Debug)]
pub struct Knock;

impl Family for Knock {
    fn protocols(&self) -> &'static [Protocol] {
        &[KNOCK]
    }

    fn ip_protocols(&self) -> &'static [(u8, Protocol)] {
        &[(NUMBER, KNOCK)]
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<Sent, DecodeError> {
        Message::read(bytes).map(|message| names::message(message.kind, message.id, bytes.len()))
    }

    fn analyser(&self, _: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(Requests::of(&Self)))
    }
}

impl Simple for Knock {
    fn kind(&self) -> About {
        About::of("knock", "Knock")
    }

    fn method(&self) -> &'static str {
        "knock-psk"
    }

    fn read(&self, bytes: &[u8]) -> Result<Said, DecodeError> {
        let message = Message::read(bytes)?;
        let (ue, gw) = (Node::Ue, Node::Gw);
        let is_question = message.kind == Kind::Knock;
        let sent = names::message(message.kind, message.id, bytes.len());
        let number = u32::from(message.id);
        Ok(Said {
            parts: vec![Part::new("Nonce", hex(&message.nonce)), Part::bare("Tag")],
            begins: is_question,
            asks: is_question.then_some(number),
            answers: (!is_question).then_some(number),
            end: (!is_question).then_some(End::Established),
            ..Said::new(sent, if is_question { (ue, gw) } else { (gw, ue) })
        })
    }
}

//! Identity exchange of the peer: SIM/Start and AKA-Identity. Read RFC 4186 §4.2.2 to §4.2.5, RFC 4187 §4.1 first.

use super::super::attribute::{Attribute, kind};
use super::super::checkcode::Transcript;
use super::super::flavour::Flavour;
use super::super::message::{Builder, Fault, Message};
use super::super::{SIM_VERSION, reason};
use super::{Next, Refusal, Shared, State, Step};

/// The state before anything is proved.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The last request for an identity.
    asked: Option<Ask>,
    /// The AKA-Identity messages so far.
    pub(super) transcript: Transcript,
    /// The result of SIM/Start.
    pub(super) start: Option<Start>,
    /// The functions in AT_KDF when we requested another of them.
    pub(super) kdfs: Option<Vec<u16>>,
    /// Challenges we answered with AUTS.
    pub(super) resynchronised: u8,
}

/// The result of SIM/Start.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub(super) nonce_mt: [u8; 16],
    pub(super) versions: Vec<u8>,
}

/// A server's request for an identity, in the order in which they may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ask {
    Any,
    Fullauth,
    Permanent,
}

impl Waiting {
    pub(super) fn on_identity_request(
        mut self: Box<Self>,
        message: &Message<'_>,
        shared: &mut Shared,
    ) -> Next {
        message.attributes.only(allowed(shared.flavour))?;
        let ask = asked(message)?;
        // RFC 4186 §4.2.4: requests for an identity come in this order, none of them twice.
        if ask.is_some() && ask <= self.asked {
            return Err(Fault::Contradiction("identity request").into());
        }
        let fast = ask == Some(Ask::Any) && shared.has_reauthentication();
        if let Some(ask) = ask {
            shared.identity = shared.identity_for(ask);
            self.asked = Some(ask);
        }
        let response = self.response(message, ask.is_some(), fast, shared)?;
        self.transcript.push(message.packet);
        self.transcript.push(&response);
        Ok((State::Waiting(self), Step::Continue(response)))
    }

    fn response(
        &mut self,
        message: &Message<'_>,
        asked: bool,
        fast: bool,
        shared: &mut Shared,
    ) -> Result<Vec<u8>, Refusal> {
        let flavour = shared.flavour;
        let mut response = Builder::response(flavour, message.identifier, flavour.identity_subtype());
        if flavour == Flavour::Sim {
            let start = self.start(message, shared)?;
            // RFC 4186 §9.2: with a fast re-authentication identity neither nonce nor version is sent.
            response = response
                .with_if(!fast, &Attribute::NonceMt(start.nonce_mt))
                .with_if(!fast, &Attribute::SelectedVersion(SIM_VERSION));
        } else if !asked {
            return Err(Fault::Missing("AT_ANY_ID_REQ").into());
        }
        Ok(response.with_if(asked, &Attribute::Identity(&shared.identity)).finish())
    }

    fn start(&mut self, message: &Message<'_>, shared: &mut Shared) -> Result<&Start, Refusal> {
        let versions = message.attributes.versions().ok_or(Fault::Missing("AT_VERSION_LIST"))?;
        if !versions.chunks(2).any(|version| version == SIM_VERSION.to_be_bytes()) {
            return Err(Refusal::client_error(1, reason::UNSUPPORTED_VERSION));
        }
        // RFC 4186 §10.4: one nonce for all SIM/Start rounds of a conversation.
        let nonce_mt = self.start.take().map_or_else(|| shared.rng.bytes(), |start| start.nonce_mt);
        Ok(self.start.insert(Start { nonce_mt, versions: versions.to_vec() }))
    }
}

impl Shared {
    fn has_reauthentication(&self) -> bool {
        self.card.lock().reauthentication(self.flavour).is_some()
    }

    fn identity_for(&self, ask: Ask) -> Vec<u8> {
        let card = self.card.lock();
        match ask {
            Ask::Any => card.identity(self.flavour),
            Ask::Fullauth => card.full_identity(self.flavour),
            Ask::Permanent => card.permanent_identity(self.flavour),
        }
    }
}

/// The identity request in the message, if there is one.
fn asked(message: &Message<'_>) -> Result<Option<Ask>, Fault> {
    let kinds = [
        (kind::ANY_ID_REQ, Ask::Any),
        (kind::FULLAUTH_ID_REQ, Ask::Fullauth),
        (kind::PERMANENT_ID_REQ, Ask::Permanent),
    ];
    let mut found = kinds.iter().filter(|(kind, _)| message.attributes.has(*kind)).map(|(_, ask)| *ask);
    let first = found.next();
    // RFC 4186 §10.1: the three exclude each other.
    if found.next().is_some() { Err(Fault::Contradiction("identity request")) } else { Ok(first) }
}

const fn allowed(flavour: Flavour) -> &'static [u8] {
    match flavour {
        Flavour::Sim => {
            &[kind::VERSION_LIST, kind::ANY_ID_REQ, kind::FULLAUTH_ID_REQ, kind::PERMANENT_ID_REQ]
        }
        Flavour::Aka | Flavour::AkaPrime => {
            &[kind::ANY_ID_REQ, kind::FULLAUTH_ID_REQ, kind::PERMANENT_ID_REQ]
        }
    }
}

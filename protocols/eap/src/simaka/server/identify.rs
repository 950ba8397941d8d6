//! Identification of the peer: SIM/Start and AKA-Identity. Read RFC 4186 §4.2.2 to §4.2.4, RFC 4187 §4.1 first.
//!
//! The server requests an identity at most three times, with decreasing privacy: any identity, one for full authentication,
//! the permanent one.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::book::Known;
use super::super::checkcode::Transcript;
use super::super::flavour::Flavour;
use super::super::identity::{IDENTITY_BYTES_MAX, Imsi, imsi_of};
use super::super::message::{Builder, Fault, Message};
use super::super::{SIM_VERSION, SIM_VERSIONS, reason};
use super::{Failure, Next, Shared, State, Turn, aka, expect_subtype, reauthenticate, sim};

/// The identified peer.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// The subscriber with this permanent identity or pseudonym.
    pub(super) imsi: Imsi,
    /// The identity as last sent, for key derivation.
    pub(super) identity: Vec<u8>,
    /// The identity messages so far.
    pub(super) transcript: Transcript,
}

/// The interpretation of an identity.
enum Who {
    Again(Known),
    Full(Imsi),
    Nobody,
}

/// The kind of identity requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Any,
    Fullauth,
    Permanent,
}

/// SIM/Start or AKA-Identity is outstanding.
#[derive(Debug)]
pub(super) struct AwaitIdentity {
    ask: Option<Ask>,
    /// The subscriber if no identity was requested.
    known: Option<Imsi>,
    /// The identity as last sent.
    identity: Vec<u8>,
    transcript: Transcript,
}

/// Starts with the identity from outside the method.
pub(super) fn begin(identity: &[u8], shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
    let (transcript, identity) = (Transcript::default(), bounded(identity));
    if shared.settings.ask_identity {
        return ask(Some(Ask::Any), None, identity, transcript, shared);
    }
    match resolve(&identity, true, shared, cx) {
        Who::Again(known) => reauthenticate::begin(known, identity, transcript, shared, cx),
        Who::Full(imsi) => full(Peer { imsi, identity, transcript }, shared),
        Who::Nobody => ask(Some(Ask::Any), None, identity, transcript, shared),
    }
}

/// Continues with a full authentication of a known peer.
pub(super) fn full(peer: Peer, shared: &mut Shared) -> Next {
    match shared.flavour {
        Flavour::Sim => ask(None, Some(peer.imsi), peer.identity, peer.transcript, shared),
        Flavour::Aka | Flavour::AkaPrime => Ok(aka::ask_vectors(peer, None, shared)),
    }
}

fn bounded(identity: &[u8]) -> Vec<u8> {
    identity[..identity.len().min(IDENTITY_BYTES_MAX)].to_vec()
}

fn resolve(identity: &[u8], fast: bool, shared: &Shared, cx: &Ctx<'_>) -> Who {
    let Shared { flavour, book, .. } = shared;
    if let Some(known) = fast.then(|| book.take(*flavour, identity, cx.now)).flatten() {
        return Who::Again(known);
    }
    let imsi = book.pseudonym(*flavour, identity, cx.now).or_else(|| imsi_of(*flavour, identity));
    imsi.map_or(Who::Nobody, Who::Full)
}

fn ask(
    ask: Option<Ask>,
    known: Option<Imsi>,
    identity: Vec<u8>,
    mut transcript: Transcript,
    shared: &Shared,
) -> Next {
    let flavour = shared.flavour;
    let mut request = Builder::request(flavour, shared.identifier, flavour.identity_subtype());
    if let Some(ask) = ask {
        request = request.with(&ask.attribute());
    }
    let is_sim = flavour == Flavour::Sim;
    let request = request.with_if(is_sim, &Attribute::VersionList(SIM_VERSIONS)).finish();
    transcript.push(&request);
    let wait = AwaitIdentity { ask, known, identity, transcript };
    Ok((State::Identity(wait), Turn::Request(request)))
}

impl Ask {
    const fn attribute(self) -> Attribute<'static> {
        match self {
            Self::Any => Attribute::AnyIdReq,
            Self::Fullauth => Attribute::FullauthIdReq,
            Self::Permanent => Attribute::PermanentIdReq,
        }
    }

    const fn next(self) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Fullauth),
            Self::Fullauth => Some(Self::Permanent),
            Self::Permanent => None,
        }
    }
}

impl AwaitIdentity {
    pub(super) fn on_response(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        expect_subtype(message, shared.flavour.identity_subtype())?;
        message.attributes.only(allowed(shared.flavour))?;
        let (who, identity) = self.who(message, shared, cx)?;
        let mut transcript = self.transcript;
        transcript.push(message.packet);
        match who {
            Who::Again(known) => reauthenticate::begin(known, identity, transcript, shared, cx),
            Who::Full(imsi) => {
                let peer = Peer { imsi, identity, transcript };
                go_on(peer, message, shared)
            }
            Who::Nobody => {
                let next = self.ask.and_then(Ask::next).ok_or(Failure::Notify(reason::UNKNOWN_IDENTITY))?;
                ask(Some(next), None, identity, transcript, shared)
            }
        }
    }

    fn who(&self, message: &Message<'_>, shared: &Shared, cx: &Ctx<'_>) -> Result<(Who, Vec<u8>), Failure> {
        let (ask, identity) = match (self.ask, message.attributes.identity()) {
            (Some(ask), Some(identity)) => (ask, identity),
            (Some(_), None) => return Err(Fault::Missing("AT_IDENTITY").into()),
            // RFC 4186 §9.2: AT_IDENTITY only if it was requested.
            (None, Some(_)) => return Err(Fault::Unexpected(kind::IDENTITY).into()),
            (None, None) => {
                return Ok((self.known.map_or(Who::Nobody, Who::Full), self.identity.clone()));
            }
        };
        if identity.len() > IDENTITY_BYTES_MAX {
            return Err(Fault::Contradiction("AT_IDENTITY").into());
        }
        Ok((resolve(identity, ask == Ask::Any, shared, cx), identity.to_vec()))
    }
}

/// The peer of a full authentication is known: EAP-SIM's Start also contains its nonce.
fn go_on(peer: Peer, message: &Message<'_>, shared: &mut Shared) -> Next {
    if shared.flavour != Flavour::Sim {
        return Ok(aka::ask_vectors(peer, None, shared));
    }
    let nonce_mt = message.attributes.nonce_mt().ok_or(Fault::Missing("AT_NONCE_MT"))?;
    match message.attributes.selected_version() {
        Some(SIM_VERSION) => Ok(sim::ask_vectors(peer, nonce_mt, shared)),
        Some(_) => Err(Failure::Notify(reason::UNSUPPORTED_VERSION)),
        None => Err(Fault::Missing("AT_SELECTED_VERSION").into()),
    }
}

const fn allowed(flavour: Flavour) -> &'static [u8] {
    match flavour {
        Flavour::Sim => &[kind::IDENTITY, kind::NONCE_MT, kind::SELECTED_VERSION],
        Flavour::Aka | Flavour::AkaPrime => &[kind::IDENTITY],
    }
}

//! EAP-MSCHAPv2: mutual authentication with a password, with keys. Read draft-kamath-pppext-eap-mschapv2 §2 and RFC 2759 §4–6
//! first; \[MS-CHAP\] §3.2.5 and §3.3.5 describe the deployed behaviour.
//!
//! ```text
//!   server                                       peer
//!     Challenge  challenge              -->
//!                                       <--        Response  challenge, proof, name
//!     Success    proof                  -->
//!                                       <--        Success
//!   or
//!     Failure    691, R=1, a challenge  -->
//!                                       <--        Response again, or Failure
//!     Failure    691, R=0               -->
//!                                       <--        Failure
//! ```
//!
//! Our peer has one password and never retries; our server allows retries.

use std::sync::Arc;

use keytoll_crypto_api::Secret;

use super::Method;
use crate::method::{
    Keys, PeerMethod, PeerOffer, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep, Turn,
};
use crate::mschap::message::{Refusal, Request, Response, proof_text, read_proof_text};
use crate::mschap::{CHALLENGE_LEN, Exchange, PasswordHash, without_domain};
use crate::packet::{Message, MethodType};
use crate::passwords::Passwords;

impl MethodType {
    /// draft-kamath-pppext-eap-mschapv2.
    pub const MSCHAPV2: Self = Self(26);
}

/// EAP-MSCHAPv2 with one attempt.
pub static METHOD: Method = Method {
    name: "mschapv2",
    kind: MethodType::MSCHAPV2,
    title: "MSCHAPv2",
    has_tls: false,
    card: None,
    inside: None,
    peer: |_, parts| Ok(Arc::new(MschapV2Peer { name: None, password: parts.password()? })),
    server: |parts, _| {
        let (passwords, name) = (parts.passwords()?, parts.name.clone());
        Ok(Arc::new(MschapV2Server { passwords, name, retries: 0 }))
    },
};

/// The peer's side of it.
#[derive(Debug, Clone)]
pub struct MschapV2Peer {
    /// The password.
    pub password: Secret,
    /// The user's name; the EAP identity if `None`.
    pub name: Option<Vec<u8>>,
}

/// The server's side of it.
#[derive(Clone)]
pub struct MschapV2Server {
    /// The users.
    pub passwords: Arc<dyn Passwords>,
    /// The name that it sends.
    pub name: Vec<u8>,
    /// How often a user may try again.
    pub retries: u8,
}

const MALFORMED: &str = "EAP-MSCHAPv2 malformed";
const OUT_OF_STEP: &str = "EAP-MSCHAPv2 message out of step";

impl PeerOffer for MschapV2Peer {
    fn method(&self) -> MethodType {
        MethodType::MSCHAPV2
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(PeerSide { offer: self.clone(), wait: PeerWait::Challenge })
    }
}

struct PeerSide {
    offer: MschapV2Peer,
    wait: PeerWait,
}

/// What the peer waits for.
enum PeerWait {
    Challenge,
    Verdict(Verdict),
    Nothing,
}

/// Waits for a Success or Failure request; a Success must contain this proof.
struct Verdict {
    proof: Secret,
    msk: Secret,
}

impl PeerMethod for PeerSide {
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep {
        let Ok(request) = Request::read(request.data) else { return PeerStep::Ignore(MALFORMED) };
        match (&self.wait, request) {
            (PeerWait::Challenge, Request::Challenge { id, challenge, .. }) => {
                self.prove(id, &challenge, turn)
            }
            (PeerWait::Verdict(verdict), Request::Success { text, .. }) => {
                let step = verdict.on_success(text);
                self.wait = PeerWait::Nothing;
                step
            }
            (PeerWait::Verdict(_), Request::Failure { text, .. }) => {
                self.wait = PeerWait::Nothing;
                PeerStep::Failed(Some(Response::Failure.write()), reason(text))
            }
            _ => PeerStep::Ignore(OUT_OF_STEP),
        }
    }
}

impl PeerSide {
    fn prove(&mut self, id: u8, challenge: &[u8; CHALLENGE_LEN], turn: &mut Turn<'_, '_>) -> PeerStep {
        let crypto = &mut *turn.cx.crypto;
        let peer_challenge = turn.rng.bytes();
        let name = self.offer.name.as_deref().unwrap_or(turn.identity);
        let exchange =
            Exchange { authenticator_challenge: challenge, peer_challenge: &peer_challenge, user: name };
        let hash = PasswordHash::new(&self.offer.password, crypto);
        let nt_response = hash.nt_response(&exchange, crypto);
        let proof = hash.authenticator_response(&exchange, &nt_response, crypto);
        self.wait = PeerWait::Verdict(Verdict {
            proof: Secret::from(&proof[..]),
            msk: hash.msk(&nt_response, crypto),
        });
        PeerStep::Continue(Response::Proof { id, peer_challenge, nt_response, name }.write())
    }
}

impl Verdict {
    // RFC 2759 §5: if the authenticator response is missing or wrong, the peer must end the session.
    fn on_success(&self, text: &[u8]) -> PeerStep {
        match read_proof_text(text) {
            Some(proof) if self.proof == Secret::from(&proof[..]) => {
                PeerStep::Satisfied(Response::Success.write(), keys(self.msk.clone()))
            }
            _ => PeerStep::Failed(None, Reason::SERVER_NOT_AUTHENTIC),
        }
    }
}

fn keys(msk: Secret) -> Keys {
    Keys { msk: Some(msk), ..Keys::default() }
}

/// The reason in a Failure request.
fn reason(text: &[u8]) -> Reason {
    match Refusal::read(text).map(|refusal| refusal.error) {
        Some(Refusal::AUTHENTICATION_FAILURE) => Reason::WRONG_PASSWORD,
        Some(
            Refusal::RESTRICTED_LOGON_HOURS
            | Refusal::ACCOUNT_DISABLED
            | Refusal::PASSWORD_EXPIRED
            | Refusal::NO_DIALIN_PERMISSION,
        ) => Reason::ACCOUNT_RESTRICTED,
        _ => Reason::REFUSED,
    }
}

impl ServerOffer for MschapV2Server {
    fn method(&self) -> MethodType {
        MethodType::MSCHAPV2
    }

    fn tries_password(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(ServerSide {
            offer: self.clone(),
            retries_left: self.retries,
            wait: ServerWait::Nothing,
            user: None,
        })
    }
}

struct ServerSide {
    offer: MschapV2Server,
    retries_left: u8,
    wait: ServerWait,
    /// The user whose password was proved.
    user: Option<Vec<u8>>,
}

/// What the server waits for.
enum ServerWait {
    Nothing,
    Proof(Challenged),
    /// The peer's confirmation that it accepts our proof.
    Acceptance {
        msk: Secret,
    },
    /// The peer's acknowledgement of the failure.
    Acknowledgement(Reason),
}

/// Waits for a response to this challenge or, if another was refused, for the peer to give up.
struct Challenged {
    challenge: [u8; CHALLENGE_LEN],
    refused: Option<Reason>,
}

/// A Response message.
struct Proof<'a> {
    id: u8,
    peer_challenge: [u8; CHALLENGE_LEN],
    nt_response: [u8; 24],
    name: &'a [u8],
}

impl ServerMethod for ServerSide {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        let challenge = turn.rng.bytes();
        self.wait = ServerWait::Proof(Challenged { challenge, refused: None });
        ServerStep::Request(
            Request::Challenge { id: turn.identifier, challenge, name: &self.offer.name }.write(),
        )
    }

    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        let Ok(response) = Response::read(response.data) else { return ServerStep::Ignore(MALFORMED) };
        match (&self.wait, response) {
            (
                ServerWait::Proof(Challenged { challenge, .. }),
                Response::Proof { id, peer_challenge, nt_response, name },
            ) => {
                let challenge = *challenge;
                self.check(&challenge, &Proof { id, peer_challenge, nt_response, name }, turn)
            }
            (ServerWait::Proof(Challenged { refused: Some(reason), .. }), Response::Failure) => {
                ServerStep::Failed(*reason)
            }
            (ServerWait::Acceptance { msk }, Response::Success) => ServerStep::Done(keys(msk.clone())),
            (ServerWait::Acceptance { .. }, Response::Failure) => {
                ServerStep::Failed(Reason::SERVER_NOT_AUTHENTIC)
            }
            (ServerWait::Acknowledgement(reason), Response::Failure) => ServerStep::Failed(*reason),
            _ => ServerStep::Ignore(OUT_OF_STEP),
        }
    }

    fn identity(&self) -> Option<&[u8]> {
        self.user.as_deref()
    }
}

impl ServerSide {
    fn check(
        &mut self,
        challenge: &[u8; CHALLENGE_LEN],
        proof: &Proof<'_>,
        turn: &mut Turn<'_, '_>,
    ) -> ServerStep {
        // The name is covered by the hash; it must not be another user's than the identity.
        if without_domain(proof.name) != without_domain(turn.identity) {
            return self.refuse(proof.id, Reason::WRONG_IDENTITY, turn);
        }
        let Some((user, password)) = self.password(turn.identity) else {
            return self.refuse(proof.id, Reason::UNKNOWN_USER, turn);
        };
        let crypto = &mut *turn.cx.crypto;
        let hash = PasswordHash::new(&password, crypto);
        let exchange = Exchange {
            authenticator_challenge: challenge,
            peer_challenge: &proof.peer_challenge,
            user: proof.name,
        };
        if !hash.accepts(&exchange, &proof.nt_response, crypto) {
            return self.refuse(proof.id, Reason::WRONG_PASSWORD, turn);
        }
        let ours = hash.authenticator_response(&exchange, &proof.nt_response, crypto);
        self.user = Some(user.to_vec());
        self.wait = ServerWait::Acceptance { msk: hash.msk(&proof.nt_response, crypto) };
        ServerStep::Request(Request::Success { id: proof.id, text: &proof_text(&ours) }.write())
    }

    /// The password of an identity, with or without its domain, and the name under which it was found: the password does not
    /// authenticate the domain.
    fn password<'a>(&self, identity: &'a [u8]) -> Option<(&'a [u8], Secret)> {
        let names = [identity, without_domain(identity)];
        names.into_iter().find_map(|name| Some((name, self.offer.passwords.password(name)?)))
    }

    /// \[MS-CHAP\] §3.3.5.2: with retries left, R is 1 and the peer may answer the new challenge. The error is the same
    /// for a wrong password and a wrong name, so that existing users are not revealed.
    fn refuse(&mut self, id: u8, reason: Reason, turn: &mut Turn<'_, '_>) -> ServerStep {
        let retry = (self.retries_left > 0).then(|| turn.rng.bytes());
        self.retries_left = self.retries_left.saturating_sub(1);
        self.wait = match retry {
            Some(challenge) => ServerWait::Proof(Challenged { challenge, refused: Some(reason) }),
            None => ServerWait::Acknowledgement(reason),
        };
        let text = Refusal { error: Refusal::AUTHENTICATION_FAILURE, retry }.write();
        ServerStep::Request(Request::Failure { id, text: &text }.write())
    }
}

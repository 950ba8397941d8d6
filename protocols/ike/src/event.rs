//! Commands and events of an endpoint.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::sa::SaPair;
use keytoll_net::Socket;

use crate::config::Mode;
use crate::number::NotifyType;
use crate::refused::RefusedProposal;
use crate::unproved::Unproved;
use crate::v2::schemes::Clash;
use crate::wire::{Identity, TrafficSelector};

/// Identifies an IKE SA: our SPI, which IKEv1 calls our cookie. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaId(pub u64);

/// A command to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Set up an IKE SA and the child of its connection.
    Initiate {
        /// Index into [`crate::config::Config::connections`].
        connection: usize,
        /// Our address; the endpoint chooses the port.
        local: IpAddr,
        /// The responder's address; the endpoint chooses the port.
        remote: IpAddr,
    },
    /// Set up another child SA under an IKE SA.
    CreateChild(SaId),
    /// Rekey the child SA with this inbound SPI.
    RekeyChild(SaId, u32),
    /// Replace the keys of an IKE SA.
    RekeyIke(SaId),
    /// Close the child SA with this inbound SPI.
    DeleteChild(SaId, u32),
    /// ESP has received a packet on the child SA with this inbound SPI, which was set up with `peer_ready` false: the peer has
    /// installed it.
    ChildHeard(SaId, u32),
    /// Close an IKE SA and all its children.
    Delete(SaId),
    /// Check the liveness of the peer.
    Probe(SaId),
    /// Refuse new IKE SAs; those under way may finish.
    Drain,
    /// Pass an output of the EAP server or peer to the SA that waits for it.
    Eap(SaId, Eap),
}

/// EAP is external: the endpoint carries its packets and takes its result (RFC 7296 §2.16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eap {
    /// An EAP packet to send to the peer.
    Packet(Vec<u8>),
    /// EAP succeeded.
    Success {
        /// Responder: the EAP-Success packet to send; initiator: empty.
        packet: Vec<u8>,
        /// The MSK, if the method derived one.
        msk: Option<Secret>,
        /// Responder: the identity that EAP authenticated, if its server names it. Initiator: `None`.
        identity: Option<Vec<u8>>,
    },
    /// EAP failed.
    Failure {
        /// Responder: the EAP-Failure packet to send; initiator: empty.
        packet: Vec<u8>,
    },
}

/// An event of an endpoint.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// An IKE SA is established: both sides are authenticated.
    Established(Box<Established>),
    /// A child SA is usable; on each side once its part of the exchange is complete.
    ChildUp(SaId, Box<ChildSa>),
    /// A child SA replaces the one with inbound SPI `old`, which still receives until it is closed.
    ChildRekeyed {
        /// The IKE SA.
        sa: SaId,
        /// SPI the replaced SA receives on.
        old: u32,
        /// The new SA.
        new: Box<ChildSa>,
    },
    /// A child SA is closed; its inbound SPI.
    ChildDown(SaId, u32),
    /// A child SA was requested and refused; the IKE SA remains.
    ChildFailed(SaId, Reason),
    /// Responder: no proposal of a peer was acceptable, for an IKE SA or for a child. The peer may be unauthenticated.
    ProposalRefused(Box<RefusedProposal>),
    /// An IKE SA was rekeyed and has a new id; its children moved over.
    Rekeyed {
        /// The SA that is being closed.
        old: SaId,
        /// The SA that replaces it; in IKEv1 both may have existed side by side before.
        new: SaId,
    },
    /// Responder: an initiator requests EAP; the answer is the first EAP request.
    EapStart {
        /// The IKE SA, not established yet.
        sa: SaId,
        /// Index of its provisional connection; the identity that EAP authenticates decides.
        connection: usize,
        /// The identity that the initiator claims, unauthenticated.
        identity: Identity,
        /// The initiator's address.
        remote: Socket,
    },
    /// An EAP packet arrived for the EAP server or peer; the answer is [`Command::Eap`].
    EapPacket(SaId, Vec<u8>),
    /// The authentication lifetime ends soon, and the connection is to be reauthenticated before (RFC 4478).
    ReauthenticationDue(SaId),
    /// An established IKE SA is closed, with all children.
    Closed(SaId, Reason),
    /// An IKE SA could not be set up; with its peer, unless an internal error lost it.
    Failed(SaId, Reason, Option<Box<Unproved>>),
}

/// An IKE SA that was established.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Established {
    /// The IKE SA.
    pub sa: SaId,
    /// The peer's SPI.
    pub peer_spi: u64,
    /// Index of its connection.
    pub connection: usize,
    /// Whether we were the original initiator.
    pub initiator: bool,
    /// The authenticated identity of the peer. For an initiator with EAP the one that the EAP server named, if any; `None` for a
    /// responder that only EAP authenticated, because that proves no name.
    pub peer: Option<Identity>,
    /// The identity that the peer claims in IKE; with EAP it is not authenticated.
    pub claimed: Identity,
    /// The peer's address.
    pub remote: Socket,
    /// What was negotiated.
    pub suite: Suite,
    /// When the peer must reauthenticate, if it was told so.
    pub auth_lifetime: Option<Duration>,
    /// The inner address assigned to the initiator.
    pub address: Option<IpAddr>,
}

/// A pair of child SAs, with keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSa {
    /// SPIs, algorithms and keys.
    pub pair: SaPair,
    /// Tunnel or transport.
    pub mode: Mode,
    /// Our side of the traffic.
    pub local: Vec<TrafficSelector>,
    /// The peer's side.
    pub remote: Vec<TrafficSelector>,
    /// UDP encapsulation between these addresses, if there is a NAT (RFC 3948).
    pub encapsulation: Option<(Socket, Socket)>,
    /// The peer is behind a NAT, which may change its address: follow the source of its packets (RFC 7296 §2.23). A peer without NAT
    /// detection may send ESP from another port than IKE.
    pub peer_may_move: bool,
    /// Whether the peer has installed it. An IKEv2 responder must receive on it before it sends (RFC 7296 §2.8).
    pub peer_ready: bool,
    /// The negotiated traffic limit in bytes; in IKEv2 each side has its own.
    pub bytes_max: Option<u64>,
}

/// Why something ended or failed to start; analysis groups by [`Reason::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The peer did not answer.
    Timeout,
    /// The peer sent this error notification.
    Refused(u16),
    /// The peer's authentication is invalid: wrong key or signature.
    AuthenticationFailed,
    /// We have no signature scheme that the peer can verify.
    NoCommonSignature(Clash),
    /// The peer's certificate is not trusted.
    Certificate(keytoll_crypto_api::credentials::CertificateError),
    /// The peer is not the expected one.
    WrongIdentity,
    /// The peer's signature or key is weaker than the connection takes.
    WeakSignature,
    /// No common suite.
    NoProposalChosen,
    /// No common traffic.
    TrafficSelectors,
    /// The peer broke the protocol.
    Syntax(&'static str),
    /// An unknown payload with the critical flag.
    UnsupportedCritical(u8),
    /// EAP ended without success.
    Eap,
    /// Either side closed it normally.
    Deleted,
    /// Its authentication lifetime ended.
    Lifetime,
    /// A new one replaced it.
    Replaced,
    /// A bug in this program: the SA was given up while it processed a message.
    Internal,
}

impl Reason {
    /// Whether it was reported by the peer or by EAP, which knows more.
    pub const fn is_hearsay(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Eap)
    }

    /// The name used in traces and summaries.
    pub const fn name(self) -> &'static str {
        use keytoll_crypto_api::credentials::CertificateError as Bad;
        match self {
            Self::Timeout => "timeout",
            Self::Refused(notify) => NotifyType(notify).name(),
            Self::AuthenticationFailed => "AUTHENTICATION_FAILED",
            Self::NoCommonSignature(_) => "no common signature scheme",
            Self::Certificate(Bad::Malformed) => "certificate malformed",
            Self::Certificate(Bad::UnknownIssuer) => "certificate of unknown issuer",
            Self::Certificate(Bad::Expired) => "certificate expired",
            Self::Certificate(Bad::NotYetValid) => "certificate not yet valid",
            Self::Certificate(Bad::BadSignature) => "certificate with bad signature",
            Self::Certificate(Bad::Revoked) => "certificate revoked",
            Self::Certificate(Bad::NoRevocationList) => "certificate without revocation list",
            Self::Certificate(Bad::RevocationListExpired) => "certificate's revocation list expired",
            Self::Certificate(Bad::NotAcceptable) => "certificate not acceptable",
            Self::WrongIdentity => "unexpected identity",
            Self::WeakSignature => "signature too weak",
            Self::NoProposalChosen => "NO_PROPOSAL_CHOSEN",
            Self::TrafficSelectors => "TS_UNACCEPTABLE",
            Self::Syntax(_) => "INVALID_SYNTAX",
            Self::UnsupportedCritical(_) => "UNSUPPORTED_CRITICAL_PAYLOAD",
            Self::Eap => "EAP failure",
            Self::Deleted => "deleted",
            Self::Lifetime => "lifetime",
            Self::Replaced => "replaced",
            Self::Internal => "internal error",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonSignature(clash) => write!(f, "{} ({clash})", self.name()),
            Self::Syntax(what) => write!(f, "INVALID_SYNTAX ({what})"),
            Self::UnsupportedCritical(kind) => write!(f, "UNSUPPORTED_CRITICAL_PAYLOAD ({kind})"),
            other => f.write_str(other.name()),
        }
    }
}

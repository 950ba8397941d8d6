//! What the owner of an endpoint may ask, and what it is told.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::suite::Suite;
use keytoll_net::Socket;

use crate::config::Mode;
use crate::number::NotifyType;
use crate::refused::RefusedProposal;
use crate::unproved::Unproved;
use crate::v2::schemes::Clash;
use crate::wire::{Identity, TrafficSelector};

/// Names an IKE SA: the SPI we chose for it, which IKEv1 calls our cookie. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaId(pub u64);

/// What may be asked of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Set up an IKE SA and the child its connection describes.
    Initiate {
        /// Index into [`crate::config::Config::connections`].
        connection: usize,
        /// Our address; the port is chosen by the endpoint.
        local: IpAddr,
        /// The responder's address; the port is chosen by the endpoint.
        remote: IpAddr,
    },
    /// Set up one more child SA under an IKE SA.
    CreateChild(SaId),
    /// Replace the keys of a child SA, named by the SPI we receive on.
    RekeyChild(SaId, u32),
    /// Replace the keys of an IKE SA.
    RekeyIke(SaId),
    /// Close a child SA, named by the SPI we receive on.
    DeleteChild(SaId, u32),
    /// The peer uses a child SA that was set up with `peer_ready` false, named by the SPI we receive on: it knows of it.
    ChildHeard(SaId, u32),
    /// Close an IKE SA and all its children.
    Delete(SaId),
    /// Ask the peer whether it lives.
    Probe(SaId),
    /// Let nobody begin an IKE SA any more; those that began may go on.
    Drain,
    /// Hand over what the EAP server or peer says for an SA that waits for it.
    Eap(SaId, Eap),
}

/// EAP lives outside: the endpoint carries its packets and takes its verdict (RFC 7296 §2.16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eap {
    /// An EAP packet to carry to the peer, or one that came from it.
    Packet(Vec<u8>),
    /// EAP succeeded.
    Success {
        /// Responder: the EAP-Success packet to carry; initiator: nothing.
        packet: Vec<u8>,
        /// The MSK, if the method made one.
        msk: Option<Secret>,
        /// Responder: whom EAP proved, as its server says; none if it does not say. Initiator: nothing.
        identity: Option<Vec<u8>>,
    },
    /// EAP failed.
    Failure {
        /// Responder: the EAP-Failure packet to carry; initiator: nothing.
        packet: Vec<u8>,
    },
}

/// What an endpoint tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// An IKE SA is up and both sides are authenticated.
    Established(Box<Established>),
    /// A child SA can be used; on both sides, when their part of the exchange is done.
    ChildUp(SaId, Box<ChildSa>),
    /// A child SA replaces the one that received on `old`; the old one still receives until it is closed.
    ChildRekeyed {
        /// The IKE SA.
        sa: SaId,
        /// SPI the replaced SA receives on.
        old: u32,
        /// The new SA.
        new: Box<ChildSa>,
    },
    /// A child SA is gone; its inbound SPI.
    ChildDown(SaId, u32),
    /// A child was asked for and refused; the IKE SA stays.
    ChildFailed(SaId, Reason),
    /// As responder: nothing that a peer offered was acceptable, for an IKE SA or for a child. It may be anybody.
    ProposalRefused(Box<RefusedProposal>),
    /// An IKE SA got new keys and a new name; its children moved over.
    Rekeyed {
        /// The SA that is being closed.
        old: SaId,
        /// The SA that replaces it; in IKEv1 it may have stood beside the old one before.
        new: SaId,
    },
    /// Responder: an initiator wants to prove itself with EAP; the answer is the first EAP request.
    EapStart {
        /// The IKE SA, not established yet.
        sa: SaId,
        /// Index of a connection that may become its own; whom EAP proves decides.
        connection: usize,
        /// Who the initiator says it is, which nothing has proved.
        identity: Identity,
        /// Where the initiator is.
        remote: Socket,
    },
    /// An EAP packet arrived for the EAP server or peer; the answer is [`Command::Eap`].
    EapPacket(SaId, Vec<u8>),
    /// The authentication lifetime is about to end and the connection wants to be there before (RFC 4478).
    ReauthenticationDue(SaId),
    /// An established IKE SA is gone, with all children.
    Closed(SaId, Reason),
    /// An IKE SA did not come up; with whom, unless a mistake of ours has lost that, too.
    Failed(SaId, Reason, Option<Box<Unproved>>),
}

/// An IKE SA that came up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Established {
    /// The IKE SA.
    pub sa: SaId,
    /// The SPI that the peer chose for it.
    pub peer_spi: u64,
    /// Index of its connection.
    pub connection: usize,
    /// Whether we were the original initiator.
    pub initiator: bool,
    /// Who the peer is, as it was proved: of an initiator with EAP whom the EAP server named, and nobody if it named none;
    /// of a responder that EAP alone has proved nobody, for that proves no name.
    pub peer: Option<Identity>,
    /// Who the peer says it is in IKE; where EAP is its proof nothing proves that.
    pub claimed: Identity,
    /// Where the peer is.
    pub remote: Socket,
    /// What was negotiated.
    pub suite: Suite,
    /// When the peer must authenticate again, if it was told so.
    pub auth_lifetime: Option<Duration>,
    /// The inner address assigned to the initiator.
    pub address: Option<IpAddr>,
}

/// A pair of child SAs, with keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSa {
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Algorithms.
    pub suite: Suite,
    /// Tunnel or transport.
    pub mode: Mode,
    /// Keys for what we receive.
    pub inbound: ChildKeys,
    /// Keys for what we send.
    pub outbound: ChildKeys,
    /// Our side of the traffic.
    pub local: Vec<TrafficSelector>,
    /// The peer's side.
    pub remote: Vec<TrafficSelector>,
    /// UDP encapsulation between these addresses, if a NAT is there (RFC 3948).
    pub encapsulation: Option<(Socket, Socket)>,
    /// The peer is behind a NAT, which may give it another address: what it sends tells where it is (RFC 7296 §2.23).
    pub peer_may_move: bool,
    /// The peer knows it already. Who answered in IKEv2 must hear on it first (RFC 7296 §2.8).
    pub peer_ready: bool,
    /// What both sides have agreed it may carry, in bytes; in IKEv2 that is each side's own business.
    pub bytes_max: Option<u64>,
}

/// The keys of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildKeys {
    /// Encryption key with salt.
    pub encryption: Secret,
    /// Integrity key; empty with an AEAD.
    pub integrity: Secret,
}

/// Why something ended or did not begin; [`Reason::name`] is what analysis groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The peer did not answer.
    Timeout,
    /// The peer said this error notification.
    Refused(u16),
    /// We could not verify the peer: wrong key or signature.
    AuthenticationFailed,
    /// Nothing that we can sign with is something that the peer can verify.
    NoCommonSignature(Clash),
    /// The peer's certificate is not one we believe.
    Certificate(keytoll_crypto_api::credentials::CertificateError),
    /// The peer is not whom we expected.
    WrongIdentity,
    /// No common suite.
    NoProposalChosen,
    /// No common traffic.
    TrafficSelectors,
    /// The peer broke the protocol.
    Syntax(&'static str),
    /// An unknown payload that the peer insists on.
    UnsupportedCritical(u8),
    /// EAP ended without success.
    Eap,
    /// Either side closed it in good order.
    Deleted,
    /// Its authentication lifetime ended.
    Lifetime,
    /// A new one took its place.
    Replaced,
    /// A mistake in this program: the SA was given up in the middle of a message.
    Internal,
}

impl Reason {
    /// Whether somebody else found it: the peer told us, or EAP, which knows more.
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

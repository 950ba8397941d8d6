//! Names of the ways a conversation fails; analysis groups by them.

/// The peer's identity says nothing to the server.
pub const UNKNOWN_IDENTITY: &str = "EAP unknown identity";
/// The subscriber database does not know the IMSI.
pub const UNKNOWN_SUBSCRIBER: &str = "EAP unknown subscriber";
/// The subscriber database gave no usable vectors.
pub const NO_VECTORS: &str = "EAP no authentication vectors";
/// The card's answer is not the one the subscriber database expects.
pub const WRONG_RESPONSE: &str = "EAP wrong SIM key";
/// The card does not believe the network.
pub const NETWORK_REJECTED: &str = "EAP network authentication rejected";
/// The sequence numbers could not be brought into step.
pub const RESYNCHRONISATION: &str = "EAP resynchronisation failed";
/// The peer could not process a request.
pub const CLIENT_ERROR: &str = "EAP client error";
/// No version of EAP-SIM in common.
pub const UNSUPPORTED_VERSION: &str = "EAP unsupported version";
/// The peer wants more GSM challenges.
pub const TOO_FEW_CHALLENGES: &str = "EAP too few challenges";
/// The peer has seen a GSM challenge before.
pub const STALE_CHALLENGES: &str = "EAP challenges not fresh";
/// A message that cannot be read or lacks what it needs.
pub const MALFORMED: &str = "EAP malformed message";
/// A message that does not come now.
pub const UNEXPECTED: &str = "EAP unexpected message";
/// No key derivation function in common.
pub const NO_KDF: &str = "EAP no acceptable key derivation";
/// The identity messages the two sides saw differ.
pub const CHECKCODE: &str = "EAP wrong checkcode";
/// The card cannot keep the sequence number of a challenge, and would take it again.
pub const CARD_MEMORY: &str = "EAP card cannot keep its sequence number";
/// EAP-AKA although both sides can do EAP-AKA′.
pub const BIDDING_DOWN: &str = "EAP bidding down";
/// The other side said that it failed.
pub const NOTIFIED: &str = "EAP notification of failure";

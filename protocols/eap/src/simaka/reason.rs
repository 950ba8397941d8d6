//! Names of the reasons of failure, which analysis groups by.

/// The peer's identity is unknown to the server.
pub const UNKNOWN_IDENTITY: &str = "EAP unknown identity";
/// The subscriber database does not know the IMSI.
pub const UNKNOWN_SUBSCRIBER: &str = "EAP unknown subscriber";
/// The subscriber database returned no usable vectors.
pub const NO_VECTORS: &str = "EAP no authentication vectors";
/// The card's answer is not the expected one.
pub const WRONG_RESPONSE: &str = "EAP wrong SIM key";
/// The card did not accept the network.
pub const NETWORK_REJECTED: &str = "EAP network authentication rejected";
/// Resynchronisation of the sequence numbers failed.
pub const RESYNCHRONISATION: &str = "EAP resynchronisation failed";
/// The peer could not process a request.
pub const CLIENT_ERROR: &str = "EAP client error";
/// No version of EAP-SIM in common.
pub const UNSUPPORTED_VERSION: &str = "EAP unsupported version";
/// The peer requires more GSM challenges.
pub const TOO_FEW_CHALLENGES: &str = "EAP too few challenges";
/// The peer has seen a GSM challenge before.
pub const STALE_CHALLENGES: &str = "EAP challenges not fresh";
/// A malformed or incomplete message.
pub const MALFORMED: &str = "EAP malformed message";
/// A message that is not expected now.
pub const UNEXPECTED: &str = "EAP unexpected message";
/// No key derivation function in common.
pub const NO_KDF: &str = "EAP no acceptable key derivation";
/// The two sides have seen different identity messages.
pub const CHECKCODE: &str = "EAP wrong checkcode";
/// The card cannot store the sequence number of a challenge, and would accept it again.
pub const CARD_MEMORY: &str = "EAP card cannot keep its sequence number";
/// EAP-AKA although both sides support EAP-AKA′.
pub const BIDDING_DOWN: &str = "EAP bidding down";
/// The other side notified a failure.
pub const NOTIFIED: &str = "EAP notification of failure";

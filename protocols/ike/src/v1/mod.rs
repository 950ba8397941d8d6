//! IKEv1: RFC 2407 (domain of interpretation), RFC 2408 (ISAKMP), RFC 2409 (the exchanges), RFC 3706 (dead peers),
//! RFC 3947 (NAT traversal).

mod endpoint;

pub use endpoint::Endpoint;

//! The phases of IKE that a meter distinguishes. IKEv1's exchanges count under those with the same purpose.

use keytoll_crypto_api::Phase;

/// IKE_SA_INIT, or IKEv1's key exchange.
pub(crate) const SA_INIT: Phase = Phase::new(10, "sa-init");
/// IKE_AUTH, or IKEv1's authentication.
pub(crate) const AUTH: Phase = Phase::new(20, "auth");
/// CREATE_CHILD_SA, or quick mode.
pub(crate) const CREATE_CHILD: Phase = Phase::new(40, "create-child");
/// INFORMATIONAL.
pub(crate) const INFORMATIONAL: Phase = Phase::new(50, "informational");

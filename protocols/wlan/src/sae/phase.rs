//! What SAE is doing, in the books of a meter.

use keytoll_crypto_api::Phase;

/// Commits: the element of the password, the contributions, the shared secret.
pub(crate) const COMMIT: Phase = Phase::new(10, "sae-commit");
/// Confirms.
pub(crate) const CONFIRM: Phase = Phase::new(20, "sae-confirm");

//! Lets rustls's primitives use what the engine was lent for one call.
//!
//! rustls requires its provider as `'static` objects without further arguments, but an engine is lent its crypto for the length
//! of a call. So [`with`] puts the reference into a thread-local slot while rustls runs and removes it again, also when a panic
//! unwinds. `scoped-tls-hkt` keeps that sound: while the reference is in use, the slot is empty, so there is never a second
//! `&mut` to it.

use keytoll_crypto_api::credentials::PeerCertificate;
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::trace::Trace;
use keytoll_engine::{Ctx, Time};

use crate::memory::{Earlier, Shown, Voucher};

/// What rustls may use during one call.
pub(crate) struct Lent<'a> {
    /// Every primitive.
    pub(crate) crypto: &'a mut dyn Crypto,
    /// Randomness; `None` for calls that need none.
    pub(crate) rng: Option<&'a mut Rng>,
    /// Now.
    pub(crate) now: Time,
    /// What is noted about the conversation.
    pub(crate) notes: &'a mut Notes,
    /// Where revealed keys go.
    pub(crate) trace: &'a mut dyn Trace,
}

/// What rustls's callbacks leave for the session they run in.
#[derive(Default)]
pub(crate) struct Notes {
    /// The certificate whose path the verifier checked, with its key.
    pub(crate) peer: Option<PeerCertificate>,
    /// The chain that it came with.
    pub(crate) shown: Option<Shown>,
    /// Shared by everything that is stored of the conversation.
    pub(crate) voucher: Voucher,
    /// The earlier conversation that this one may resume.
    pub(crate) earlier: Option<Earlier>,
}

/// Helper for the slot, which can only hold a type with one covariant lifetime.
trait Loan {
    fn lend(&mut self) -> Lent<'_>;
}

impl Loan for Lent<'_> {
    fn lend(&mut self) -> Lent<'_> {
        let Self { crypto, rng, now, notes, trace } = self;
        Lent { crypto: *crypto, rng: rng.as_deref_mut(), now: *now, notes, trace: *trace }
    }
}

scoped_tls_hkt::scoped_thread_local!(static mut SLOT: for<'a> &'a mut dyn Loan);

/// Runs `call` with the loan in the slot.
pub(crate) fn with<T>(
    cx: &mut Ctx<'_>,
    rng: Option<&mut Rng>,
    notes: &mut Notes,
    call: impl FnOnce() -> T,
) -> T {
    let mut lent = Lent { crypto: &mut *cx.crypto, rng, now: cx.now, notes, trace: &mut *cx.trace };
    SLOT.set(&mut lent, call)
}

/// Uses the reference; not from within another use.
///
/// # Panics
/// Outside of [`with`].
pub(crate) fn lent<T>(each: impl FnOnce(Lent<'_>) -> T) -> T {
    assert!(SLOT.is_set(), "every call into rustls is made with the crypto lent");
    SLOT.with(|loan| each(loan.lend()))
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;
    use keytoll_crypto_api::algorithm::Hash;
    use keytoll_engine::trace::NoTrace;

    use super::*;

    #[test]
    fn a_loan_ends_with_its_call_even_in_a_panic() {
        let (mut crypto, mut trace, mut notes) = (Null, NoTrace, Notes::default());
        let mut cx = Ctx { now: Time::from_nanos(7), crypto: &mut crypto, trace: &mut trace };
        let now = with(&mut cx, None, &mut notes, || lent(|lent| lent.now));
        assert_eq!(now, Time::from_nanos(7));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            with(&mut cx, None, &mut notes, || panic!("in the middle"));
        }));
        assert!(panicked.is_err());
        assert!(std::panic::catch_unwind(|| lent(|lent| lent.now)).is_err());
    }

    #[test]
    fn uses_follow_each_other() {
        let (mut crypto, mut trace, mut notes) = (Null, NoTrace, Notes::default());
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut trace };
        let lens = with(&mut cx, None, &mut notes, || {
            [Hash::Sha256, Hash::Sha384].map(|hash| lent(|lent| lent.crypto.hash(hash, &[]).len()))
        });
        assert_eq!(lens, [32, 48]);
    }
}

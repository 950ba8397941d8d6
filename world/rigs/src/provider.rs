//! The crypto provider of a plan.

use keytoll_crypto::{Exponents, Null, Provider, Real};
use keytoll_scenario::plan::{self, CryptoMode, Plan};

/// The provider that a plan asks for.
pub fn provider(plan: &Plan) -> Provider {
    let exponents = match plan.exponents {
        plan::Exponents::Short => Exponents::Short,
        plan::Exponents::Full => Exponents::Full,
    };
    match plan.crypto {
        CryptoMode::Real => Provider::Real(Real::new(exponents)),
        #[cfg(feature = "ossl")]
        CryptoMode::OpenSsl => Provider::Ossl(keytoll_crypto::Ossl::new(exponents)),
        #[cfg(not(feature = "ossl"))]
        CryptoMode::OpenSsl => unreachable!("such a plan is refused before anything is built"),
        CryptoMode::Null | CryptoMode::Table => Provider::Null(Null),
    }
}

//! The crypto provider of a node, according to the plan.

use keytoll_crypto::{Exponents, Metered, Null, Provider, Real};
use keytoll_scenario::plan::{CryptoMode, Plan};

/// The crypto provider of a node with a meter, which also times operations that cost anything.
pub fn metered(plan: &Plan) -> Metered<Provider> {
    match plan.crypto {
        CryptoMode::Real | CryptoMode::OpenSsl => Metered::new(provider(plan)),
        CryptoMode::Null | CryptoMode::Table => Metered::count_only(provider(plan)),
    }
}

/// The provider a mode asks for.
fn provider(plan: &Plan) -> Provider {
    let exponents = match plan.exponents {
        keytoll_scenario::plan::Exponents::Short => Exponents::Short,
        keytoll_scenario::plan::Exponents::Full => Exponents::Full,
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

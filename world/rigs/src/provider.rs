//! The crypto provider of a plan.

use std::sync::OnceLock;

use keytoll_crypto::{Exponents, Null, Provider, Real};
use keytoll_scenario::plan::{self, CryptoMode, Plan};

/// The provider that a plan asks for.
pub fn provider(plan: &Plan) -> Provider {
    let exponents = match plan.exponents {
        plan::Exponents::Short => Exponents::Short,
        plan::Exponents::Full => Exponents::Full,
    };
    match plan.crypto {
        CryptoMode::Real => {
            Provider::Real(Real::new(exponents).with_slower_signatures(slower_signatures_percent()))
        }
        #[cfg(feature = "ossl")]
        CryptoMode::OpenSsl => Provider::Ossl(keytoll_crypto::Ossl::new(exponents)),
        #[cfg(not(feature = "ossl"))]
        CryptoMode::OpenSsl => unreachable!("such a plan is refused before anything is built"),
        CryptoMode::Null | CryptoMode::Table => Provider::Null(Null),
    }
}

/// The variable for tests of comparisons: by how many percent signatures of the run are to be slower. CONTRIBUTING.md documents it.
const SLOWER_SIGNATURES: &str = "KEYTOLL_SLOWER_SIGNATURES_PERCENT";

/// A note for the reader if signatures of this process take longer than their computation.
pub fn slower_signatures() -> Option<String> {
    let percent = slower_signatures_percent();
    (percent > 0).then(|| format!("{SLOWER_SIGNATURES} makes signatures take {percent} % longer"))
}

fn slower_signatures_percent() -> u64 {
    let read = || std::env::var(SLOWER_SIGNATURES).ok()?.parse().ok();
    static PERCENT: OnceLock<u64> = OnceLock::new();
    *PERCENT.get_or_init(|| read().unwrap_or(0))
}

//! The crypto provider of a node, according to the plan.

use keytoll_crypto::{Metered, Provider};
use keytoll_rigs::provider;
use keytoll_scenario::plan::{CryptoMode, Plan};

/// The crypto provider of a node with a meter, which also times operations that cost anything.
pub fn metered(plan: &Plan) -> Metered<Provider> {
    match plan.crypto {
        CryptoMode::Real | CryptoMode::OpenSsl => Metered::new(provider(plan)),
        CryptoMode::Null | CryptoMode::Table => Metered::count_only(provider(plan)),
    }
}

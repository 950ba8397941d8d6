//! The interface to the password database of a server.

use std::collections::BTreeMap;

use keytoll_crypto_api::Secret;

/// The user database of the methods with passwords.
pub trait Passwords: Send + Sync {
    /// The password of a user, UTF-8; `None` if there is no such user.
    fn password(&self, user: &[u8]) -> Option<Secret>;
}

impl Passwords for BTreeMap<Vec<u8>, Secret> {
    fn password(&self, user: &[u8]) -> Option<Secret> {
        self.get(user).cloned()
    }
}

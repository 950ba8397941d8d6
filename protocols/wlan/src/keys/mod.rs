//! The key hierarchy of 802.11: how keys come of a master key, and what protects EAPOL-Key frames. 802.11-2020 §12.7.1, §12.7.2.
//!
//! ```text
//!   passphrase --PBKDF2--> PSK ---------.
//!   EAP --MSK--------------------------- PMK --PRF or KDF, nonces and addresses--> PTK = KCK ‖ KEK ‖ TK
//!                                        '--------------------------------------> PMKID
//!   with fast transition:   XXKey --> PMK-R0 --> PMK-R1 --> PTK, each with its name
//! ```

mod derivation;
mod fast_transition;
mod key_data;
mod mic;
mod pairwise;
mod pmkid;
mod psk;

pub use derivation::derive;
pub(crate) use derivation::kdf;
pub use fast_transition::{PmkR0, PmkR1, R0Holder};
pub use key_data::{open_key_data, seal_key_data};
pub use mic::{mic, verify_mic};
pub use pairwise::{Exchange, Ptk};
pub use pmkid::pmkid;
pub use psk::{BadPassphrase, psk};

use keytoll_crypto_api::Secret;

use crate::suite::Akm;

/// A nonce of the 4-way handshake.
pub type Nonce = [u8; 32];

/// The name of a key of this hierarchy: PMKID, PMKR0Name, PMKR1Name or PTKName.
pub type KeyName = [u8; 16];

// 802.11-2020 §12.7.1.3, §12.7.1.6.3: the PMK is the first bits of the MSK; the XXKey of fast transition is its second half, or
// with SHA-384 the first 384 bits.
/// The part of an MSK that an AKM takes; none if that is too short.
pub(crate) fn master_of_msk(akm: Akm, msk: &Secret) -> Option<Secret> {
    let part = match akm {
        Akm::FtDot1x => msk.get(32..64),
        _ => msk.get(..akm.pmk_len()),
    };
    part.map(Secret::from)
}

/// Truncate-128 of a digest.
fn name(digest: &[u8]) -> KeyName {
    let mut name = KeyName::default();
    name.copy_from_slice(&digest[..16]);
    name
}

#[cfg(test)]
pub(crate) mod tests {
    /// The bytes of a hexadecimal text, in which spaces do not count.
    pub(crate) fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    pub(crate) fn array<const N: usize>(text: &str) -> [u8; N] {
        hex(text).try_into().expect("as many bytes as the array has")
    }
}

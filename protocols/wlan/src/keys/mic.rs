//! MICs of EAPOL-Key frames. 802.11-2020 §12.7.3, table 12-11.

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Digest, Rejected, about};

use crate::suite::Mic;

impl Mic {
    /// The keyed function, whose output is cut.
    const fn prf(self) -> Prf {
        match self {
            Self::HmacMd5 => Prf::HmacMd5,
            Self::HmacSha1 => Prf::HmacSha1,
            Self::AesCmac => Prf::AesCmac128,
            Self::HmacSha256 => Prf::HmacSha256,
            Self::HmacSha384 => Prf::HmacSha384,
        }
    }

    /// Bytes of the MIC.
    pub const fn mic_len(self) -> usize {
        match self {
            Self::HmacSha384 => 24,
            _ => 16,
        }
    }
}

/// The MIC of an EAPOL frame, from its version octet on, in which the MIC field is zero.
pub fn mic(algorithm: Mic, kck: &[u8], frame: &[&[u8]], crypto: &mut dyn Crypto) -> Digest {
    let mut mic = about(crypto, "MIC", |crypto| crypto.prf(algorithm.prf(), kck, frame));
    mic.truncate(algorithm.mic_len());
    mic
}

/// Checks the MIC of a frame.
///
/// # Errors
/// It is another one.
pub fn verify_mic(
    algorithm: Mic,
    kck: &[u8],
    frame: &[&[u8]],
    received: &[u8],
    crypto: &mut dyn Crypto,
) -> Result<(), Rejected> {
    if mic(algorithm, kck, frame, crypto).matches(received) { Ok(()) } else { Err(Rejected) }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    #[test]
    fn every_bit_counts_and_so_does_the_length() {
        let (crypto, kck) = (&mut Real::default(), &[3; 24]);
        for algorithm in [Mic::HmacMd5, Mic::HmacSha1, Mic::AesCmac, Mic::HmacSha256, Mic::HmacSha384] {
            let kck = &kck[..algorithm.mic_len()];
            let right = mic(algorithm, kck, &[b"frame"], crypto);
            assert_eq!(right.len(), algorithm.mic_len());
            assert_eq!(verify_mic(algorithm, kck, &[b"fr", b"ame"], &right, crypto), Ok(()));
            assert!(verify_mic(algorithm, kck, &[b"frame"], &right[1..], crypto).is_err());
            let mut wrong = right.to_vec();
            wrong[15] ^= 0x80;
            assert!(verify_mic(algorithm, kck, &[b"frame"], &wrong, crypto).is_err(), "{algorithm:?}");
        }
    }

    /// RFC 4493 §4, example 2: the key is used as it is.
    #[test]
    fn cmac_is_that_of_the_rfc() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let message = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes();
        let expected = 0x070a_16b4_6b4d_4144_f79b_dd9d_d04a_287c_u128.to_be_bytes();
        assert!(mic(Mic::AesCmac, &key, &[&message], &mut Real::default()).matches(&expected));
    }
}

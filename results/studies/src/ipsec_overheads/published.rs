//! Paper 004's printed numbers, and what follows from them.

use super::{Cipher, Way};
use crate::Bound;
use crate::published::Published;

/// The tables and the times in the text have two decimals.
const fn time(value: f64, source: &'static str) -> Published {
    Published::printed(value, source).with_decimals(2)
}

const TABLE_1: &str = "Table 1";
const TABLE_2: &str = "Table 2";
const TABLE_3: &str = "Table 3";
const TEXT: &str = "§4.1";

/// A line of Table 1: one of its rows, or several that this study cannot distinguish.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) label: &'static str,
    pub(super) what: What,
    /// One for each of the paper's rows: milliseconds with 3DES192, AES128, AES256.
    rows: &'static [[f64; 3]],
}

/// The operations that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Agreement(Phase),
    /// Keys of phase 1.
    Keys,
    /// The PRF in the authentication of phase 1.
    Hashes,
    Decryption(Phase),
    Encryption(Phase),
    Verification,
    Signature,
    /// The PRF in phase 2.
    HashesAndKeys,
}

/// The phase of IKEv1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    One,
    Two,
}

/// Table 1: the server, main mode with signatures. The paper labels the decryption and the signature verification R2; they
/// belong to the message received as I3.
pub(super) const OPERATIONS: [Operation; 11] = [
    Operation { label: "P1 D-H comp.", what: What::Agreement(Phase::One), rows: &[[17.59, 17.64, 17.55]] },
    Operation { label: "P1 IKE key gen.", what: What::Keys, rows: &[[0.18, 0.13, 0.13]] },
    Operation { label: "P1 Decryption", what: What::Decryption(Phase::One), rows: &[[0.17, 0.06, 0.06]] },
    Operation { label: "P1 Signature verif.", what: What::Verification, rows: &[[1.07, 1.09, 1.06]] },
    Operation { label: "P1 Hash verif. + gen.", what: What::Hashes, rows: &[[0.04, 0.04, 0.04]] },
    Operation { label: "P1 Signature gen.", what: What::Signature, rows: &[[78.82, 79.10, 78.96]] },
    Operation { label: "P1 Encryption", what: What::Encryption(Phase::One), rows: &[[0.06, 0.16, 0.16]] },
    Operation {
        label: "P2 Decryption",
        what: What::Decryption(Phase::Two),
        rows: &[[0.11, 0.03, 0.03], [0.07, 0.02, 0.02]],
    },
    Operation { label: "P2 D-H comp.", what: What::Agreement(Phase::Two), rows: &[[17.91, 17.95, 17.95]] },
    Operation { label: "P2 Encryption", what: What::Encryption(Phase::Two), rows: &[[0.08, 0.18, 0.18]] },
    Operation {
        label: "P2 Hashes, key gen.",
        what: What::HashesAndKeys,
        rows: &[[0.02, 0.02, 0.02], [0.03, 0.03, 0.03], [0.01, 0.02, 0.01], [0.09, 0.10, 0.10]],
    },
];

impl Operation {
    /// In milliseconds.
    pub(super) fn ms(&self, cipher: Cipher) -> Published {
        let sum = self.rows.iter().map(|row| row[cipher.place()]).sum();
        match self.rows {
            [_] => time(sum, TABLE_1),
            _ => Published::derived(sum, "rows of Table 1 added up"),
        }
    }

    /// As part of all rows, in per cent.
    pub(super) fn percent(&self, cipher: Cipher) -> Published {
        Published::derived(
            self.ms(cipher).value / operations_added_ms(cipher).value * 100.0,
            "Table 1, of the sum of its rows",
        )
    }
}

/// The rows of Table 1 added up.
pub(super) fn operations_added_ms(cipher: Cipher) -> Published {
    Published::derived(
        OPERATIONS.iter().map(|operation| operation.ms(cipher).value).sum(),
        "rows of Table 1 added up",
    )
}

/// Its last line.
pub(super) fn operations_total_ms(cipher: Cipher) -> Published {
    time([117.59, 117.93, 117.66][cipher.place()], TABLE_1)
}

/// Cryptography at the client.
pub(super) fn client_crypto_ms(cipher: Cipher) -> Published {
    time([107.27, 107.53, 107.41][cipher.place()], TEXT)
}

/// Phase 1 and phase 2 from beginning to end: both ends, because they work in lock-step.
pub(super) fn total_ms(way: Way, cipher: Cipher) -> Published {
    match way {
        Way::MainRsa => time([373.82, 370.86, 371.06][cipher.place()], TABLE_2),
        Way::MainPsk => time([214.99, 213.71, 214.30][cipher.place()], TEXT),
        Way::AggressiveRsa => {
            let value = total_ms(Way::MainRsa, cipher).value - 5.0;
            Published::derived(value, "Table 2 less the \"about 5ms\" of §4.1").bounded(Bound::About)
        }
    }
}

/// The share of cryptography in it, in per cent.
pub(super) const fn crypto_percent(way: Way) -> Published {
    let value = match way {
        Way::MainRsa | Way::AggressiveRsa => 60.0,
        Way::MainPsk => 32.0,
    };
    Published::printed(value, TEXT).bounded(Bound::About)
}

/// Table 2.
pub(super) fn skeleton_ms(cipher: Cipher) -> Published {
    time([141.48, 141.16, 141.05][cipher.place()], TABLE_2)
}

/// The cost of cryptography by Table 2.
pub(super) fn by_subtraction_ms(cipher: Cipher) -> Published {
    Published::derived(
        total_ms(Way::MainRsa, cipher).value - skeleton_ms(cipher).value,
        "Table 2, full − skeleton",
    )
}

/// The cost by Table 1 and the client's total.
pub(super) fn by_addition_ms(cipher: Cipher) -> Published {
    let both = operations_total_ms(cipher).value + client_crypto_ms(cipher).value;
    Published::derived(both, "Table 1's total and the client's in §4.1")
}

/// Table 3, with cryptography.
pub(super) fn esp_full_us(cipher: Cipher) -> Published {
    time([345.69, 244.13, 252.16][cipher.place()], TABLE_3)
}

/// Without.
pub(super) const fn esp_skeleton_us() -> Published {
    time(182.37, TABLE_3)
}

/// Without IPsec.
pub(super) const fn esp_native_us() -> Published {
    time(46.44, TABLE_3)
}

/// The share of cryptography in what ESP adds, in per cent, according to the text.
pub(super) fn esp_crypto_percent(cipher: Cipher) -> Published {
    Published::printed([55.0, 34.0, 37.0][cipher.place()], "§4.2")
}

/// The same from Table 3, which for AES contradicts the text.
pub(super) fn esp_crypto_percent_of_table(cipher: Cipher) -> Published {
    let full = esp_full_us(cipher).value;
    let share = (full - esp_skeleton_us().value) / (full - esp_native_us().value);
    Published::derived(share * 100.0, "Table 3: (full − skeleton) ÷ (full − native)")
}

/// Inbound processing with 3DES192.
pub(super) const fn inbound_us() -> Published {
    time(148.61, TEXT)
}

/// The share of decryption in inbound processing with 3DES192, in per cent.
pub(super) const fn decryption_percent() -> Published {
    Published::printed(58.0, TEXT).bounded(Bound::About)
}

/// The share of encryption in outbound processing with 3DES192, in per cent.
pub(super) const fn encryption_percent() -> Published {
    Published::printed(55.0, TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// protocols.md §4: the columns add up to 116.25, 116.57 and 116.30, not to the printed totals.
    #[test]
    fn the_rows_of_table_1_do_not_add_up_to_its_total() {
        let sums = Cipher::ALL.map(|cipher| (operations_added_ms(cipher).value * 100.0).round() / 100.0);
        assert_eq!(sums, [116.25, 116.57, 116.30]);
        let unlisted =
            Cipher::ALL.map(|cipher| operations_total_ms(cipher).value - operations_added_ms(cipher).value);
        assert!(unlisted.iter().all(|ms| (1.33..1.37).contains(ms)), "{unlisted:?}");
    }

    /// 373.82 − 214.99 = 158.83, twice 79.4; (117.59 + 107.27) ÷ 373.82 = 60 %.
    #[test]
    fn the_text_s_conclusions_follow_from_its_numbers() {
        let cipher = Cipher::TripleDes192;
        let gap = total_ms(Way::MainRsa, cipher).value - total_ms(Way::MainPsk, cipher).value;
        assert!((gap / 2.0 - 79.4).abs() < 0.1, "{gap}");
        let share = by_addition_ms(cipher).value / total_ms(Way::MainRsa, cipher).value;
        assert!((share - 0.60).abs() < 0.005, "{share}");
    }

    /// Table 1 prints 79.10, the text 214.30 and, without decimals, 55 %.
    #[test]
    fn times_keep_their_printed_decimals() {
        let of_signature = OPERATIONS.iter().find(|operation| operation.what == What::Signature).unwrap();
        let psk = total_ms(Way::MainPsk, Cipher::Aes256);
        let printed = [of_signature.ms(Cipher::Aes128), psk, esp_crypto_percent(Cipher::TripleDes192)];
        let printed = printed.map(|figure| (figure.value, figure.decimals));
        assert_eq!(printed, [(79.1, Some(2)), (214.3, Some(2)), (55.0, None)]);
        assert_eq!(total_ms(Way::AggressiveRsa, Cipher::Aes256).decimals, None, "derived");
    }

    /// 163.32 ÷ 299.25 is 55 %, but 61.76 ÷ 197.69 and 69.79 ÷ 205.72 are neither 34 nor 37 %.
    #[test]
    fn only_one_of_the_printed_shares_of_esp_follows_from_table_3() {
        let rounded = Cipher::ALL.map(|cipher| esp_crypto_percent_of_table(cipher).value.round());
        assert_eq!(rounded, [55.0, 31.0, 34.0]);
    }
}

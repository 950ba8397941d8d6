//! Shared by the tests of this module: hexadecimal, rows of vectors, the real provider.

pub(crate) use crate::testing::hex as bytes;

/// An array from hexadecimal.
pub(crate) fn hex<const N: usize>(text: &str) -> [u8; N] {
    bytes(text).try_into().unwrap()
}

/// The rows of a vector file, split at blanks, comments left out.
pub(crate) fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// The provider that computes.
pub(crate) fn real() -> keytoll_crypto::Real {
    keytoll_crypto::Real::default()
}

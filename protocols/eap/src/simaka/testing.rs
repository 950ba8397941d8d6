//! What the tests of this module share: hexadecimal, rows of vectors, the real provider.

/// Bytes from hexadecimal; blanks are ignored.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

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

//! Parameters that are lists of numbers: DH_GROUP_LIST (RFC 7401 §5.2.6), HIP_CIPHER (§5.2.8), HIT_SUITE_LIST (§5.2.10),
//! TRANSPORT_FORMAT_LIST (§5.2.11) and ESP_TRANSFORM (RFC 7402 §5.1.2). All are ordered by the preference of the sender.

use keytoll_net::wire::{DecodeError, Reader, Writer};

/// RFC 7401 §5.2.8, RFC 7402 §5.1.2: of more than six ciphers or suites a recipient takes the first six.
pub const CHOICES_MAX: usize = 6;

/// Numbers of one octet each: DH_GROUP_LIST, HIT_SUITE_LIST.
pub fn octets(contents: Reader<'_>) -> &[u8] {
    let mut contents = contents;
    contents.rest()
}

/// Numbers of two octets each: HIP_CIPHER, TRANSPORT_FORMAT_LIST.
///
/// # Errors
/// If half a number is left over.
pub fn numbers(mut r: Reader<'_>, field: &'static str) -> Result<Vec<u16>, DecodeError> {
    let mut numbers = Vec::new();
    while !r.is_empty() {
        let number = r.u16(field)?;
        if numbers.len() < CHOICES_MAX {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// The suites of ESP_TRANSFORM, behind two reserved octets.
///
/// # Errors
/// If it is cut short.
pub fn esp_suites(mut r: Reader<'_>) -> Result<Vec<u16>, DecodeError> {
    r.skip(2, "ESP_TRANSFORM reserved")?;
    numbers(r, "ESP suite")
}

/// Writes numbers of two octets each.
pub fn write_numbers(w: &mut Writer, numbers: impl IntoIterator<Item = u16>) {
    numbers.into_iter().for_each(|number| w.u16(number));
}

/// Writes ESP_TRANSFORM.
pub fn write_esp_suites(w: &mut Writer, suites: impl IntoIterator<Item = u16>) {
    w.u16(0);
    write_numbers(w, suites);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_choices_are_taken_and_half_a_number_is_an_error() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(
            numbers(Reader::new(&bytes), "cipher").unwrap(),
            [0x0001, 0x0203, 0x0405, 0x0607, 0x0809, 0x0a0b]
        );
        assert_eq!(numbers(Reader::new(&bytes[..3]), "cipher").unwrap_err().offset, 2);
        assert_eq!(esp_suites(Reader::new(&[0, 0, 0, 8])).unwrap(), [8]);
        assert!(esp_suites(Reader::new(&[0])).is_err());
    }
}

//! The User-Password attribute, RFC 2865 §5.2: a password of up to 128 bytes, padded with zeros and hidden.

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_net::wire::{DecodeError, Problem, Reader};
use zeroize::Zeroizing;

use super::chain::{self, BLOCK};
use crate::wire::Authenticator;

/// RFC 2865 §5.2: at most 128 characters.
pub const PASSWORD_MAX: usize = 128;

/// The attribute value that hides a password under a request's authenticator; `None` if the password is too long.
pub fn hide(
    password: &Secret,
    request: &Authenticator,
    secret: &Secret,
    crypto: &mut dyn Crypto,
) -> Option<Vec<u8>> {
    if password.len() > PASSWORD_MAX {
        return None;
    }
    let mut value = vec![0; password.len().next_multiple_of(BLOCK).max(BLOCK)];
    value[..password.len()].copy_from_slice(password);
    chain::encrypt(&mut value, [request, &[]], secret, crypto);
    Some(value)
}

/// The password hidden in a value of the attribute. A wrong secret gives a wrong password.
///
/// # Errors
/// The value is not whole blocks of 16 bytes, or too long.
pub fn reveal(
    mut value: Reader<'_>,
    request: &Authenticator,
    secret: &Secret,
    crypto: &mut dyn Crypto,
) -> Result<Secret, DecodeError> {
    let length = value.len();
    if !length.is_multiple_of(BLOCK) || !(BLOCK..=PASSWORD_MAX).contains(&length) {
        return Err(value.error("User-Password", Problem::Length(length as u64)));
    }
    let mut data = Zeroizing::new(value.rest().to_vec());
    chain::decrypt(&mut data, [request, &[]], secret, crypto);
    let end = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Ok(Secret::from(&data[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_crypto::Real;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_multiples_of_16_up_to_128() {
        let secret = Secret::from(b"xyzzy5461".as_slice());
        let hide = |n: usize| {
            hide(&Secret::new(vec![1; n]), &[0; 16], &secret, &mut Real::default()).map(|value| value.len())
        };
        let lengths = [hide(0), hide(16), hide(17), hide(128), hide(129)];
        assert_eq!(lengths, [Some(16), Some(16), Some(32), Some(128), None]);
        for wrong in [0, 15, 17, 144] {
            let error =
                reveal(Reader::new(&vec![0; wrong]), &[0; 16], &secret, &mut Real::default()).unwrap_err();
            assert_eq!(error.problem, Problem::Length(wrong as u64));
        }
    }

    proptest! {
        #[test]
        fn round_trip(password in proptest::collection::vec(1..=u8::MAX, 0..=128), secret: Vec<u8>, request: Authenticator) {
            let (password, secret) = (Secret::new(password), Secret::new(secret));
            let value = hide(&password, &request, &secret, &mut Real::default()).unwrap();
            prop_assert_eq!(reveal(Reader::new(&value), &request, &secret, &mut Real::default()), Ok(password));
        }
    }
}

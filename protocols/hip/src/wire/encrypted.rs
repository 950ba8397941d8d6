//! ENCRYPTED, RFC 7401 §5.2.18: parameters under the HIP encryption key of their sender.
//!
//!   Reserved(4) IV(*) Encrypted data(*)
//!
//! ENCRYPTED_KEY and I_NONCE of draft-ietf-hip-dex-24 §5.2.5 and §5.2.6 hold nothing but their value.

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::parameter::Parameter;
use crate::number::ParameterType;

/// What is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encrypted<'a> {
    /// The initialization vector, as long as the cipher wants it.
    pub iv: &'a [u8],
    /// The encrypted parameters.
    pub data: &'a [u8],
}

impl<'a> Encrypted<'a> {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short.
    pub fn read(mut r: Reader<'a>, iv_len: usize) -> Result<Self, DecodeError> {
        r.skip(4, "ENCRYPTED reserved")?;
        Ok(Self { iv: r.take(iv_len, "ENCRYPTED IV")?, data: r.rest() })
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u32(0);
        w.bytes(self.iv);
        w.bytes(self.data);
    }
}

/// The one parameter that was encrypted, which must be of this type.
///
/// # Errors
/// If it is another one, is cut short, or something follows it.
pub fn only_parameter(plain: &[u8], kind: ParameterType) -> Result<Parameter<'_>, DecodeError> {
    let mut r = Reader::new(plain);
    let at = r;
    let parameter = Parameter::read(&mut r)?;
    if parameter.kind != kind {
        return Err(at.error("encrypted parameter type", Problem::Value(parameter.kind.0.into())));
    }
    r.end("ENCRYPTED")?;
    Ok(parameter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::parameter::write_parameter;

    #[test]
    fn round_trip_and_cuts() {
        let encrypted = Encrypted { iv: &[1; 16], data: &[2; 32] };
        let mut w = Writer::default();
        encrypted.write(&mut w);
        let bytes = w.finish();
        assert_eq!(Encrypted::read(Reader::new(&bytes), 16).unwrap(), encrypted);
        assert!((0..20).all(|cut| Encrypted::read(Reader::new(&bytes[..cut]), 16).is_err()));
    }

    #[test]
    fn one_parameter_and_no_other_is_inside() {
        let mut w = Writer::default();
        write_parameter(&mut w, ParameterType::HOST_ID, |w| w.bytes(&[7; 5]));
        let plain = w.finish();
        assert_eq!(only_parameter(&plain, ParameterType::HOST_ID).unwrap().bytes(), [7; 5]);
        assert!(only_parameter(&plain, ParameterType::AKA_ID).is_err());
        assert!(only_parameter(&plain[..8], ParameterType::HOST_ID).is_err());
        assert!(only_parameter(&[&plain[..], &[0; 8]].concat(), ParameterType::HOST_ID).is_err());
    }
}

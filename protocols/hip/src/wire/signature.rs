//! HIP_SIGNATURE and HIP_SIGNATURE_2, RFC 7401 §5.2.14 and §5.2.15.
//!
//!   SIG algorithm(2) Signature(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::host_id::HostIdAlgorithm;

/// A signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature<'a> {
    /// Of which kind the key is that made it.
    pub algorithm: HostIdAlgorithm,
    /// What it made.
    pub bytes: &'a [u8],
}

impl<'a> Signature<'a> {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { algorithm: HostIdAlgorithm(r.u16("SIG algorithm")?), bytes: r.rest() })
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u16(self.algorithm.0);
        w.bytes(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_cuts() {
        let signature = Signature { algorithm: HostIdAlgorithm::RSA, bytes: &[9; 128] };
        let mut w = Writer::default();
        signature.write(&mut w);
        let bytes = w.finish();
        assert_eq!(Signature::read(Reader::new(&bytes)).unwrap(), signature);
        assert!((0..2).all(|cut| Signature::read(Reader::new(&bytes[..cut])).is_err()));
    }
}

//! ESP_INFO, RFC 7402 §5.1.1.
//!
//!   Reserved(2) KEYMAT Index(2) Old SPI(4) New SPI(4)

use keytoll_net::wire::{DecodeError, Reader, Writer};

/// Which SPI the sender receives on, and which keys it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EspInfo {
    /// Where in KEYMAT the keys of the SA begin, in octets.
    pub keymat_index: u16,
    /// The SPI that is replaced; 0: none was before.
    pub old_spi: u32,
    /// The SPI that replaces it; 0: the SA ends.
    pub new_spi: u32,
}

impl EspInfo {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they have another length.
    pub fn read(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        r.skip(2, "ESP_INFO reserved")?;
        let info = Self {
            keymat_index: r.u16("KEYMAT index")?,
            old_spi: r.u32("old SPI")?,
            new_spi: r.u32("new SPI")?,
        };
        r.end("ESP_INFO")?;
        Ok(info)
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u16(0);
        w.u16(self.keymat_index);
        w.u32(self.old_spi);
        w.u32(self.new_spi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_cuts() {
        let info = EspInfo { keymat_index: 96, old_spi: 1, new_spi: 0x0203_0405 };
        let mut w = Writer::default();
        info.write(&mut w);
        let bytes = w.finish();
        assert_eq!(bytes, [0, 0, 0, 96, 0, 0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(EspInfo::read(Reader::new(&bytes)).unwrap(), info);
        assert!((0..bytes.len()).all(|cut| EspInfo::read(Reader::new(&bytes[..cut])).is_err()));
    }
}

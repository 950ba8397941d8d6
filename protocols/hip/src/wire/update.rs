//! What UPDATE and NOTIFY carry: SEQ (RFC 7401 §5.2.16), ACK (§5.2.17), NOTIFICATION (§5.2.19), LOCATOR_SET (RFC 8046 §4).
//!
//!   SEQ           Update ID(4)
//!   ACK           peer Update ID(4) …
//!   NOTIFICATION  Reserved(2) Notify Message Type(2) Notification Data(*)
//!   LOCATOR_SET   { Traffic Type(1) Locator Type(1) Locator Length(1, in 4 octets) Reserved(7 bits) P(1 bit)
//!                   Locator Lifetime(4, in seconds) Locator(*) } …

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::NotifyType;

/// Locators of one host that are read; more are too many interfaces.
const LOCATORS_MAX: usize = 16;
/// RFC 8046 §4.2: an SPI and an address.
const TYPE_SPI_AND_ADDRESS: u8 = 1;
/// RFC 8046 §4.2: an address alone.
const TYPE_ADDRESS: u8 = 0;

/// Reads SEQ.
///
/// # Errors
/// If it has another length.
pub fn read_seq(mut r: Reader<'_>) -> Result<u32, DecodeError> {
    let id = r.u32("Update ID")?;
    r.end("SEQ")?;
    Ok(id)
}

/// Reads ACK: the Update IDs that were received.
///
/// # Errors
/// If there is none, or a part of one.
pub fn read_ack(mut r: Reader<'_>) -> Result<Vec<u32>, DecodeError> {
    let mut ids = vec![r.u32("peer Update ID")?];
    while !r.is_empty() {
        ids.push(r.u32("peer Update ID")?);
    }
    Ok(ids)
}

/// A notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification<'a> {
    /// What it says.
    pub kind: NotifyType,
    /// More about it.
    pub data: &'a [u8],
}

impl<'a> Notification<'a> {
    /// Reads the contents.
    ///
    /// # Errors
    /// If they are cut short.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        r.skip(2, "NOTIFICATION reserved")?;
        Ok(Self { kind: NotifyType(r.u16("notify message type")?), data: r.rest() })
    }

    /// Writes the contents.
    pub fn write(&self, w: &mut Writer) {
        w.u16(0);
        w.u16(self.kind.0);
        w.bytes(self.data);
    }
}

/// An address at which a host can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locator {
    /// What it is for: 0 all traffic, 1 HIP, 2 ESP.
    pub traffic: u8,
    /// Whether it is preferred.
    pub is_preferred: bool,
    /// How long it is valid, in whole seconds.
    pub lifetime: Duration,
    /// The SPI of the SA at that address, if it names one.
    pub spi: Option<u32>,
    /// The address.
    pub address: IpAddr,
}

impl Locator {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let traffic = r.u8("locator traffic type")?;
        let type_field = *r;
        let kind = r.u8("locator type")?;
        let words = r.u8("locator length")?;
        let is_preferred = r.u8("locator flags")? & 1 == 1;
        let lifetime = Duration::from_secs(r.u32("locator lifetime")?.into());
        let mut locator = r.sub(4 * usize::from(words), "locator")?;
        let spi = match kind {
            TYPE_ADDRESS => None,
            TYPE_SPI_AND_ADDRESS => Some(locator.u32("locator SPI")?),
            _ => return Err(type_field.error("locator type", Problem::Value(kind.into()))),
        };
        let address = Ipv6Addr::from(locator.array::<16>("locator address")?);
        locator.end("locator")?;
        // RFC 8046 §4.2: IPv4 addresses are mapped into IPv6.
        Ok(Self { traffic, is_preferred, lifetime, spi, address: address.to_canonical() })
    }

    fn write(&self, w: &mut Writer) {
        w.u8(self.traffic);
        w.u8(if self.spi.is_some() { TYPE_SPI_AND_ADDRESS } else { TYPE_ADDRESS });
        w.u8(if self.spi.is_some() { 5 } else { 4 });
        w.u8(self.is_preferred.into());
        w.u32(u32::try_from(self.lifetime.as_secs()).unwrap_or(u32::MAX));
        self.spi.iter().for_each(|&spi| w.u32(spi));
        let address = match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        w.bytes(&address.octets());
    }
}

/// Reads LOCATOR_SET.
///
/// # Errors
/// If a locator is cut short or of a type that RFC 8046 does not have.
pub fn read_locators(mut r: Reader<'_>) -> Result<Vec<Locator>, DecodeError> {
    let mut locators = Vec::new();
    while !r.is_empty() {
        if locators.len() == LOCATORS_MAX {
            return Err(r.error("LOCATOR_SET", Problem::Length(LOCATORS_MAX as u64 + 1)));
        }
        locators.push(Locator::read(&mut r)?);
    }
    Ok(locators)
}

/// Writes LOCATOR_SET.
pub fn write_locators(w: &mut Writer, locators: &[Locator]) {
    locators.iter().for_each(|locator| locator.write(w));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locators_round_trip_and_cuts() {
        let locator = |spi, address: &str| Locator {
            traffic: 0,
            is_preferred: spi == Some(7),
            lifetime: Duration::from_secs(120),
            spi,
            address: address.parse().unwrap(),
        };
        let locators = [locator(Some(7), "192.0.2.9"), locator(None, "2001:db8::9")];
        let mut w = Writer::default();
        write_locators(&mut w, &locators);
        let bytes = w.finish();
        assert_eq!(read_locators(Reader::new(&bytes)).unwrap(), locators);
        let whole = [0, 28, bytes.len()];
        for cut in (0..bytes.len()).filter(|cut| !whole.contains(cut)) {
            assert!(read_locators(Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
    }

    #[test]
    fn acknowledgements_are_whole_numbers() {
        assert_eq!(read_ack(Reader::new(&[0, 0, 0, 1, 0, 0, 0, 2])).unwrap(), [1, 2]);
        assert!(read_ack(Reader::new(&[])).is_err());
        assert!(read_ack(Reader::new(&[0, 0, 0, 1, 0])).is_err());
        assert_eq!(read_seq(Reader::new(&[0, 0, 0, 5])).unwrap(), 5);
        assert!(read_seq(Reader::new(&[0, 0, 0, 5, 0])).is_err());
    }
}

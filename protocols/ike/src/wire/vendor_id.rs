//! Vendor ID payload, RFC 7296 §3.12.
//!
//!   Vendor ID(*)

use keytoll_net::wire::{Reader, Writer};

/// Identifies the implementation or an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VendorId<'a> {
    /// Usually a hash of the vendor's name.
    pub data: &'a [u8],
}

impl<'a> VendorId<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Self {
        Self { data: r.rest() }
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::check_codec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(data: Vec<u8>) {
            check_codec(&Payload::VendorId(VendorId { data: &data }));
        }
    }
}

//! Where things are in an ESP packet, RFC 4303 §2: what the algorithms of an SA say of it, asked once and not for every packet.

use keytoll_crypto_api::TrafficKey;

/// RFC 4303 §2: SPI(4) Sequence Number(4) come first.
pub(crate) const HEADER_LEN: usize = 8;

/// The lengths of an SA's packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    front_len: u8,
    icv_len: u8,
    /// Ciphertext is a multiple of the cipher's block, a power of two: this is one less.
    block_mask: u8,
    /// Ciphertext that we make is a multiple of this and one.
    alignment_mask: u8,
}

impl Layout {
    /// The layout that a key's algorithms make.
    pub(crate) fn of(key: &TrafficKey) -> Self {
        let block = key.encryption.block_len();
        assert!(block.is_power_of_two(), "ciphers have blocks of 1, 8 or 16 bytes");
        let octet = |length: usize| u8::try_from(length).expect("no algorithm adds more than 64 bytes");
        Self {
            front_len: octet(HEADER_LEN + key.encryption.iv_len()),
            icv_len: octet(key.icv_len()),
            block_mask: octet(block - 1),
            // RFC 4303 §2.4: ciphertext ends on a multiple of 4, and of the cipher's block.
            alignment_mask: octet(block.max(4) - 1),
        }
    }

    /// Bytes in front of the payload: header and IV.
    #[inline]
    pub(crate) const fn front_len(&self) -> usize {
        self.front_len as usize
    }

    /// Bytes of the integrity check value.
    #[inline]
    pub(crate) const fn icv_len(&self) -> usize {
        self.icv_len as usize
    }

    /// Bytes of padding behind so many bytes of payload: with the two bytes behind them they end where they must.
    #[inline]
    pub(crate) const fn padding(&self, payload: usize) -> usize {
        !(payload + 1) & self.alignment_mask as usize
    }

    /// Bytes behind so many bytes of payload: padding, its length, Next Header, integrity check value.
    #[inline]
    pub(crate) const fn behind_len(&self, payload: usize) -> usize {
        self.padding(payload) + 2 + self.icv_len()
    }

    /// Bytes of payload that become a packet of no more than this.
    pub(crate) const fn room_bytes(&self, packet_bytes: usize) -> usize {
        let sealed = packet_bytes.saturating_sub(self.front_len() + self.icv_len());
        (sealed & !(self.alignment_mask as usize)).saturating_sub(2)
    }

    /// Whether so many bytes of ciphertext are whole blocks.
    #[inline]
    pub(crate) const fn is_whole(&self, ciphertext: usize) -> bool {
        ciphertext & self.block_mask as usize == 0
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto_api::Secret;
    use keytoll_crypto_api::algorithm::Encryption;

    use super::*;

    /// Against the sentence of RFC 4303 §2.4, written with a remainder.
    #[test]
    fn every_cipher_ends_on_its_multiple() {
        for &encryption in Encryption::ALL {
            let layout = Layout::of(&TrafficKey::new(encryption, None, Secret::default(), Secret::default()));
            let multiple = encryption.block_len().max(4);
            for payload in 0..100 {
                let padding = layout.padding(payload);
                assert!(
                    padding < multiple && (payload + padding + 2).is_multiple_of(multiple),
                    "{encryption}: {payload}"
                );
                let packet = layout.front_len() + payload + layout.behind_len(payload);
                let room = layout.room_bytes(packet);
                assert!(room >= payload && room < payload + multiple, "{encryption}: {payload}");
                assert!(layout.is_whole(payload + padding + 2), "{encryption}: {payload}");
            }
        }
    }
}

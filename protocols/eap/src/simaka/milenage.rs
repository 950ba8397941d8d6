//! MILENAGE, the authentication functions of most operators. Read 3GPP TS 35.206 §4.1 first, which is half a page:
//!
//! ```text
//!   TEMP = E(RAND ⊕ OPc)      OUT(r, c) = E(rot(TEMP ⊕ OPc, r) ⊕ c) ⊕ OPc
//!   f1, f1*: the halves of E(TEMP ⊕ rot(IN1 ⊕ OPc, 64)) ⊕ OPc       IN1 = SQN AMF SQN AMF
//!   f2, f5: OUT(0, 1)     f3: OUT(32, 2)     f4: OUT(64, 4)     f5*: OUT(96, 8)
//! ```

use keytoll_crypto_api::algorithm::BlockCipher;
use keytoll_crypto_api::{Crypto, Secret};
use zeroize::{Zeroize, Zeroizing};

/// The secrets that a USIM and its authentication centre share: the subscriber key and the operator's variant of the algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milenage {
    key: Secret,
    opc: Secret,
}

impl Milenage {
    /// A subscriber key with OPc, the operator's constant already combined with this key.
    pub fn with_opc(key: &[u8; 16], opc: &[u8; 16]) -> Self {
        Self { key: Secret::from(&key[..]), opc: Secret::from(&opc[..]) }
    }

    /// A subscriber key with the operator's constant OP (TS 35.206 §4.1: OPc = OP ⊕ E(OP)).
    pub fn with_op(key: &[u8; 16], op: &[u8; 16], crypto: &mut dyn Crypto) -> Self {
        let mut opc = Zeroizing::new(*op);
        crypto.block(BlockCipher::Aes128, key, opc.as_mut());
        xor(opc.as_mut(), op);
        Self::with_opc(key, &opc)
    }

    /// Starts with a challenge; computes once what all functions share.
    pub fn challenge(&self, rand: &[u8; 16], crypto: &mut dyn Crypto) -> Challenge<'_> {
        let mut temp = *rand;
        xor(&mut temp, &self.opc);
        crypto.block(BlockCipher::Aes128, &self.key, &mut temp);
        Challenge { subscriber: self, temp: Zeroizing::new(temp) }
    }
}

/// The functions for one RAND.
pub struct Challenge<'a> {
    subscriber: &'a Milenage,
    temp: Zeroizing<[u8; 16]>,
}

impl Challenge<'_> {
    /// f1 and f1*: the authentication codes of the network and of resynchronisation, MAC-A and MAC-S.
    pub fn macs(&self, sqn: &[u8; 6], amf: [u8; 2], crypto: &mut dyn Crypto) -> Macs {
        let mut block = [0; 16];
        for half in block.chunks_exact_mut(8) {
            half[..6].copy_from_slice(sqn);
            half[6..].copy_from_slice(&amf);
        }
        xor(&mut block, &self.subscriber.opc);
        block.rotate_left(8);
        xor(&mut block, self.temp.as_ref());
        self.encipher(&mut block, crypto);
        let (mac_a, mac_s) = block.split_at(8);
        Macs { mac_a: array(mac_a), mac_s: array(mac_s) }
    }

    /// f2 and f5: the response and the anonymity key, six bytes that conceal SQN.
    pub fn response(&self, crypto: &mut dyn Crypto) -> Response {
        let block = self.out(0, 1, crypto);
        Response { ak: array(&block[..6]), res: Secret::from(&block[8..]) }
    }

    /// f3: the cipher key CK.
    pub fn ck(&self, crypto: &mut dyn Crypto) -> Secret {
        Secret::from(&self.out(32, 2, crypto)[..])
    }

    /// f4: the integrity key IK.
    pub fn ik(&self, crypto: &mut dyn Crypto) -> Secret {
        Secret::from(&self.out(64, 4, crypto)[..])
    }

    /// f5*: the anonymity key of a resynchronisation.
    pub fn ak_resync(&self, crypto: &mut dyn Crypto) -> [u8; 6] {
        array(&self.out(96, 8, crypto)[..6])
    }

    fn out(&self, rotate_bits: usize, constant: u8, crypto: &mut dyn Crypto) -> Zeroizing<[u8; 16]> {
        let mut block = Zeroizing::new(*self.temp);
        xor(block.as_mut(), &self.subscriber.opc);
        block.rotate_left(rotate_bits / 8);
        block[15] ^= constant;
        self.encipher(&mut block, crypto);
        block
    }

    fn encipher(&self, block: &mut [u8; 16], crypto: &mut dyn Crypto) {
        crypto.block(BlockCipher::Aes128, &self.subscriber.key, block);
        xor(block, &self.subscriber.opc);
    }
}

impl std::fmt::Debug for Challenge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Challenge(..)")
    }
}

/// The two authentication codes over (RAND, SQN, AMF).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Macs {
    /// f1: authenticates the network to the USIM.
    pub mac_a: [u8; 8],
    /// f1*: authenticates the USIM's SQN to the network.
    pub mac_s: [u8; 8],
}

/// The outputs of f2 and f5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// f2: RES, eight bytes.
    pub res: Secret,
    /// f5: AK.
    pub ak: [u8; 6],
}

impl Drop for Response {
    fn drop(&mut self) {
        self.ak.zeroize();
    }
}

/// `into ⊕= with`, up to the shorter length.
pub(super) fn xor(into: &mut [u8], with: &[u8]) {
    into.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cuts exactly N bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simaka::testing::{hex, real, rows};

    #[test]
    fn the_sets_of_ts_35_208_come_out() {
        let crypto = &mut real();
        let rows = rows(include_str!("vectors/milenage.txt"));
        assert_eq!(rows.len(), 20);
        for row in rows {
            let [set, k, rand, sqn, amf, op, opc, f1, f1_star, f2, f3, f4, f5, f5_star] = row[..] else {
                panic!("{row:?}");
            };
            let subscriber = Milenage::with_op(&hex(k), &hex(op), crypto);
            assert_eq!(subscriber, Milenage::with_opc(&hex(k), &hex(opc)), "OPc of set {set}");
            let challenge = subscriber.challenge(&hex(rand), crypto);
            let macs = challenge.macs(&hex(sqn), hex(amf), crypto);
            assert_eq!(macs, Macs { mac_a: hex(f1), mac_s: hex(f1_star) }, "f1 of set {set}");
            let response = challenge.response(crypto);
            assert_eq!(response.res[..], hex::<8>(f2), "f2 of set {set}");
            assert_eq!(response.ak, hex(f5), "f5 of set {set}");
            assert_eq!(challenge.ck(crypto)[..], hex::<16>(f3), "f3 of set {set}");
            assert_eq!(challenge.ik(crypto)[..], hex::<16>(f4), "f4 of set {set}");
            assert_eq!(challenge.ak_resync(crypto), hex(f5_star), "f5* of set {set}");
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let subscriber = Milenage::with_opc(&[0xab; 16], &[0xcd; 16]);
        let challenge = subscriber.challenge(&[1; 16], &mut real());
        let shown = format!("{subscriber:?} {challenge:?}");
        assert_eq!(shown, "Milenage { key: Secret(16 bytes), opc: Secret(16 bytes) } Challenge(..)");
    }
}

//! What protects packets once there is a key: HIP_MAC and HIP_SIGNATURE (RFC 7401 §6.4), ENCRYPTED (§5.2.18) with the ciphers
//! of both exchanges (draft-ietf-hip-dex-24 §5.2.2).

use keytoll_crypto_api::algorithm::{BlockCipher, Encryption, Prf};
use keytoll_crypto_api::{Crypto, Rng, about};
use keytoll_net::wire::DecodeError;

use crate::identity::{DietVariant, HostIdentity, IdentityKey, PeerIdentity};
use crate::keymat::HipKeys;
use crate::leniency::Leniency;
use crate::number::{Cipher, HitSuite, ParameterType, Rhash};
use crate::puzzle::PuzzleFunction;
use crate::wire::encrypted::Encrypted;
use crate::wire::parameter::write_parameter;
use crate::wire::signature::Signature;
use crate::wire::{Builder, Packet, Parameter, Scope};

/// Which exchange two hosts have, as the responder's HIT decides (RFC 7401 §5.2.10, draft-ietf-hip-dex-24 §5.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    Base(Rhash),
    Diet(DietVariant),
}

impl Exchange {
    pub(crate) const fn of(responder: HitSuite, variant: DietVariant) -> Self {
        match responder.rhash() {
            Some(rhash) => Self::Base(rhash),
            None => Self::Diet(variant),
        }
    }

    /// RHASH as a keyed function: HIP_MAC, and #I of puzzles.
    pub(crate) const fn mac(self) -> Prf {
        match self {
            Self::Base(rhash) => rhash.hmac(),
            Self::Diet(_) => Prf::AesCmac128,
        }
    }

    pub(crate) const fn puzzle(self) -> PuzzleFunction {
        match self {
            Self::Base(rhash) => PuzzleFunction::Rhash(rhash),
            Self::Diet(_) => PuzzleFunction::Cmac,
        }
    }

    pub(crate) const fn mac_parameter(self) -> ParameterType {
        match self {
            Self::Base(_) | Self::Diet(DietVariant::Draft24) => ParameterType::HIP_MAC,
            Self::Diet(DietVariant::Prototype) => ParameterType::HIP_MAC_3,
        }
    }

    pub(crate) const fn is_diet(self) -> bool {
        matches!(self, Self::Diet(_))
    }
}

/// The keys of an association for HIP itself, and how they are used.
#[derive(Debug)]
pub(crate) struct Protection {
    pub(crate) exchange: Exchange,
    cipher: Cipher,
    keys: HipKeys,
    counters: Counters,
}

/// Of AES-CTR: the counter block's first 14 octets, and which blocks come next in either direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    iv: [u8; 14],
    sent: u16,
    received: u16,
}

impl Counters {
    // draft-ietf-hip-dex-24 §5.2.2: FOLD(I ‖ J, 112); the prototypes begin at zero.
    pub(crate) fn of(exchange: Exchange, puzzle: [&[u8]; 2]) -> Self {
        let mut iv = [0; 14];
        if exchange == Exchange::Diet(DietVariant::Draft24) {
            let octets = puzzle.into_iter().flatten();
            octets.enumerate().for_each(|(at, octet)| iv[at % 14] ^= octet);
        }
        Self { iv, sent: 0, received: 0 }
    }
}

/// Why a packet is not believed; the words of traces.
pub(crate) type Doubt = &'static str;

impl Protection {
    pub(crate) const fn new(exchange: Exchange, cipher: Cipher, keys: HipKeys, counters: Counters) -> Self {
        Self { exchange, cipher, keys, counters }
    }

    /// After the exchange, whose keys may have been others.
    pub(crate) fn settled(self, leniency: Leniency) -> Self {
        Self { keys: leniency.keys(self.keys), ..self }
    }

    /// The same under keys that are new to both sides.
    pub(crate) fn under(&self, keys: HipKeys) -> Self {
        let counters = Counters { sent: 0, received: 0, ..self.counters };
        Self { exchange: self.exchange, cipher: self.cipher, keys, counters }
    }

    /// Ends a packet with HIP_MAC and, in the base exchange, HIP_SIGNATURE.
    pub(crate) fn finish(&self, builder: &mut Builder, own: &HostIdentity, crypto: &mut dyn Crypto) {
        let scope = builder.scope();
        let mac = about(crypto, "HIP_MAC", |crypto| {
            crypto.prf(self.exchange.mac(), &self.keys.outbound.integrity, &scope.parts())
        });
        builder.parameter(self.exchange.mac_parameter(), |w| w.bytes(&mac));
        sign(builder, ParameterType::HIP_SIGNATURE, own, crypto);
    }

    // RFC 7401 §6.4.1: HIP_MAC_2 is computed as if the responder's HOST_ID were at the end of R2.
    /// Ends R2 of a base exchange; `kind` is the type of its signature.
    pub(crate) fn finish_r2(
        &self,
        builder: &mut Builder,
        (own, kind): (&HostIdentity, ParameterType),
        crypto: &mut dyn Crypto,
    ) {
        let host_id = host_id_parameter(own);
        let scope = builder.scope().and(&host_id);
        let mac = about(crypto, "HIP_MAC_2", |crypto| {
            crypto.prf(self.exchange.mac(), &self.keys.outbound.integrity, &scope.parts())
        });
        builder.parameter(ParameterType::HIP_MAC_2, |w| w.bytes(&mac));
        sign(builder, kind, own, crypto);
    }

    /// Checks HIP_MAC and, in the base exchange, HIP_SIGNATURE.
    pub(crate) fn check(
        &self,
        packet: &Packet<'_>,
        peer: &PeerIdentity,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Doubt> {
        self.check_mac(packet, self.exchange.mac_parameter(), &[], crypto)?;
        if self.exchange.is_diet() {
            return Ok(());
        }
        check_signature(packet, ParameterType::HIP_SIGNATURE, peer, crypto)
    }

    /// Checks HIP_MAC_2 and the signature of an R2, of type `kind`, `host_id` being the responder's parameter.
    pub(crate) fn check_r2(
        &self,
        packet: &Packet<'_>,
        (peer, host_id, kind): (&PeerIdentity, &[u8], ParameterType),
        crypto: &mut dyn Crypto,
    ) -> Result<(), Doubt> {
        self.check_mac(packet, ParameterType::HIP_MAC_2, host_id, crypto)?;
        check_signature(packet, kind, peer, crypto)
    }

    fn check_mac(
        &self,
        packet: &Packet<'_>,
        kind: ParameterType,
        and: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Result<(), Doubt> {
        let parameter = packet.one(kind, "HIP_MAC").map_err(|_| "no HIP_MAC")?;
        if !packet.has_covered(&parameter) {
            return Err("parameter behind HIP_MAC");
        }
        let mut scope = packet.scope(parameter.begins);
        if !and.is_empty() {
            scope = scope.and(and);
        }
        let mac = about(crypto, "HIP_MAC", |crypto| {
            crypto.prf(self.exchange.mac(), &self.keys.inbound.integrity, &scope.parts())
        });
        if mac.matches(parameter.bytes()) { Ok(()) } else { Err("HIP_MAC_FAILED") }
    }

    /// Encrypts parameters, and gives the contents of ENCRYPTED: IV and data; none if the counter has come to its end.
    pub(crate) fn seal(
        &mut self,
        mut plain: Vec<u8>,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let key = &self.keys.outbound.encryption;
        let mut iv = Vec::new();
        match self.cipher {
            Cipher::Null => {}
            Cipher::Aes128Ctr => {
                self.counters.sent =
                    stream(key, (&self.counters.iv, self.counters.sent), &mut plain, crypto)?;
            }
            Cipher::Aes128Cbc | Cipher::Aes256Cbc => {
                iv = rng.bytes::<16>().to_vec();
                // RFC 7401 §5.2.18: PKCS5 padding, n octets of value n.
                let padding = 16 - plain.len() % 16;
                plain.resize(plain.len() + padding, padding as u8);
                crypto.encrypt(cbc(self.cipher), key, &iv, &[], &mut plain, &mut []);
            }
        }
        Some((iv, plain))
    }

    /// Adds ENCRYPTED around one parameter; nothing if the counter has come to its end.
    pub(crate) fn push_encrypted(
        &mut self,
        builder: &mut Builder,
        (kind, contents): (ParameterType, &[u8]),
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Option<()> {
        let mut w = keytoll_net::wire::Writer::default();
        write_parameter(&mut w, kind, |w| w.bytes(contents));
        let (iv, data) = about(crypto, "ENCRYPTED", |crypto| self.seal(w.finish(), rng, crypto))?;
        builder.parameter(ParameterType::ENCRYPTED, |w| Encrypted { iv: &iv, data: &data }.write(w));
        builder.inside(kind);
        Some(())
    }

    /// What the packet's ENCRYPTED hides; only of a packet that is believed, or that is given up if it is not.
    pub(crate) fn open(
        &mut self,
        packet: &Packet<'_>,
        crypto: &mut dyn Crypto,
    ) -> Result<Vec<u8>, DecodeError> {
        let parameter = packet.one(ParameterType::ENCRYPTED, "ENCRYPTED")?;
        let iv_len = match self.cipher {
            Cipher::Aes128Cbc | Cipher::Aes256Cbc => 16,
            Cipher::Null | Cipher::Aes128Ctr => 0,
        };
        let encrypted = Encrypted::read(parameter.contents, iv_len)?;
        let wrong = |problem| parameter.contents.error("ENCRYPTED data", problem);
        let length = keytoll_net::wire::Problem::Length(encrypted.data.len() as u64);
        self.unseal(encrypted.iv, encrypted.data.to_vec(), crypto).ok_or_else(|| wrong(length))
    }

    /// Decrypts; none if lengths or padding are impossible.
    pub(crate) fn unseal(
        &mut self,
        iv: &[u8],
        mut data: Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Option<Vec<u8>> {
        let key = &self.keys.inbound.encryption;
        match self.cipher {
            Cipher::Null => {}
            Cipher::Aes128Ctr => {
                let at = (&self.counters.iv, self.counters.received);
                self.counters.received = stream(key, at, &mut data, crypto)?;
            }
            Cipher::Aes128Cbc | Cipher::Aes256Cbc => {
                if data.is_empty() || !data.len().is_multiple_of(16) {
                    return None;
                }
                crypto.decrypt(cbc(self.cipher), key, iv, &[], &mut data, &[]).ok()?;
                let padding = usize::from(*data.last()?);
                if !(1..=16).contains(&padding) {
                    return None;
                }
                data.truncate(data.len() - padding);
            }
        }
        Some(data)
    }
}

const fn cbc(cipher: Cipher) -> Encryption {
    match cipher {
        Cipher::Aes256Cbc => Encryption::Aes256Cbc,
        _ => Encryption::Aes128Cbc,
    }
}

/// AES-CTR from this block on; gives the block that comes next, or none if there are none any more.
fn stream(
    key: &[u8],
    (iv, first): (&[u8; 14], u16),
    data: &mut [u8],
    crypto: &mut dyn Crypto,
) -> Option<u16> {
    let mut counter = first;
    for chunk in data.chunks_mut(16) {
        let mut block = [0; 16];
        block[..14].copy_from_slice(iv);
        block[14..].copy_from_slice(&counter.to_be_bytes());
        crypto.block(BlockCipher::Aes128, key, &mut block);
        chunk.iter_mut().zip(block).for_each(|(octet, mask)| *octet ^= mask);
        counter = counter.checked_add(1)?;
    }
    Some(counter)
}

/// The whole HOST_ID parameter of ours.
pub(crate) fn host_id_parameter(own: &HostIdentity) -> Vec<u8> {
    let mut w = keytoll_net::wire::Writer::default();
    write_parameter(&mut w, ParameterType::HOST_ID, |w| own.host_id().write(w));
    w.finish()
}

/// Adds a signature, if the identity is one that signs.
fn sign(builder: &mut Builder, kind: ParameterType, own: &HostIdentity, crypto: &mut dyn Crypto) {
    let IdentityKey::Signing(key, scheme) = own.key() else { return };
    let scope = builder.scope();
    let bytes = about(crypto, "HIP_SIGNATURE", |crypto| crypto.sign(key, *scheme, &scope.parts()));
    builder.parameter(kind, |w| Signature { algorithm: own.algorithm(), bytes: &bytes }.write(w));
}

/// Adds the signature of an R1 whose receiver and puzzle are still zero.
pub(crate) fn sign_r1(builder: &mut Builder, own: &HostIdentity, crypto: &mut dyn Crypto) {
    sign(builder, ParameterType::HIP_SIGNATURE_2, own, crypto);
}

fn check_signature(
    packet: &Packet<'_>,
    kind: ParameterType,
    peer: &PeerIdentity,
    crypto: &mut dyn Crypto,
) -> Result<(), Doubt> {
    let parameter = packet.one(kind, "HIP_SIGNATURE").map_err(|_| "no HIP_SIGNATURE")?;
    let scope = packet.scope(parameter.begins);
    verify(packet, (&parameter, &scope), peer, crypto)
}

/// Checks the signature of an R1.
pub(crate) fn check_r1(
    packet: &Packet<'_>,
    peer: &PeerIdentity,
    crypto: &mut dyn Crypto,
) -> Result<(), Doubt> {
    let parameter =
        packet.one(ParameterType::HIP_SIGNATURE_2, "HIP_SIGNATURE_2").map_err(|_| "no HIP_SIGNATURE_2")?;
    let puzzle = packet.one(ParameterType::PUZZLE, "PUZZLE").map_err(|_| "no PUZZLE")?;
    let contents = puzzle.begins + crate::wire::parameter::PREFIX_LEN;
    let (opaque, end) = (contents + crate::wire::puzzle::OPAQUE_AT, contents + puzzle.bytes().len());
    let scope = packet.scope(parameter.begins).without_puzzle(opaque, end);
    verify(packet, (&parameter, &scope), peer, crypto)
}

/// Checks a signature over a scope of its packet.
fn verify(
    packet: &Packet<'_>,
    (parameter, scope): (&Parameter<'_>, &Scope<'_>),
    peer: &PeerIdentity,
    crypto: &mut dyn Crypto,
) -> Result<(), Doubt> {
    if !packet.has_covered(parameter) {
        return Err("parameter behind a signature");
    }
    let signature = Signature::read(parameter.contents).map_err(|_| "malformed signature")?;
    if !matches!(peer, PeerIdentity::Verifying { algorithm, .. } if *algorithm == signature.algorithm) {
        return Err("signature of another algorithm");
    }
    about(crypto, "HIP_SIGNATURE", |crypto| peer.verify(&scope.parts(), signature.bytes, crypto))
        .map_err(|_| "AUTHENTICATION_FAILED")
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;
    use keytoll_crypto_api::{Rng, Secret};
    use proptest::prelude::*;

    use super::*;
    use crate::keymat::DirectionKeys;

    fn pair(cipher: Cipher) -> [Protection; 2] {
        let keys = |octet: u8| DirectionKeys {
            encryption: Secret::from(&vec![octet; cipher.key_len()][..]),
            integrity: Secret::from(&[octet; 32][..]),
        };
        let exchange = Exchange::Diet(DietVariant::Draft24);
        let counters = Counters::of(exchange, [&[1; 16], &[2; 16]]);
        [(1, 2), (2, 1)].map(|(out, into)| {
            let keys = HipKeys { outbound: keys(out), inbound: keys(into) };
            Protection::new(exchange, cipher, keys, counters)
        })
    }

    proptest! {
        #[test]
        fn what_one_encrypts_the_other_reads(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..5), which in 0_usize..4) {
            let crypto = &mut Real::default();
            let [mut ours, mut theirs] = pair(Cipher::ALL[which]);
            let mut rng = Rng::named(1, "iv");
            for piece in pieces {
                let (iv, data) = ours.seal(piece.clone(), &mut rng, crypto).unwrap();
                prop_assert_eq!(theirs.unseal(&iv, data, crypto).unwrap(), piece);
            }
        }
    }

    #[test]
    fn a_counter_block_is_used_once() {
        let crypto = &mut Real::default();
        let [mut ours, _] = pair(Cipher::Aes128Ctr);
        let mut rng = Rng::named(1, "iv");
        let first = ours.seal(vec![0; 16], &mut rng, crypto).unwrap();
        assert_ne!(first, ours.seal(vec![0; 16], &mut rng, crypto).unwrap());
        assert!(ours.seal(vec![0; 16 * 65_533], &mut rng, crypto).is_some());
        assert!(ours.seal(vec![0; 32], &mut rng, crypto).is_none());
    }

    #[test]
    fn padding_that_cannot_be_is_refused() {
        let crypto = &mut Real::default();
        let [_, mut theirs] = pair(Cipher::Aes128Cbc);
        assert!(theirs.unseal(&[0; 16], vec![0; 15], crypto).is_none());
        assert!(theirs.unseal(&[0; 16], Vec::new(), crypto).is_none());
    }
}

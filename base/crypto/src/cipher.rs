//! Encryption as IKE and ESP key it: where key, salt, IV and nonce sit. RFC 3602 and RFC 2451 (CBC), RFC 3686 (CTR),
//! RFC 4106 and RFC 5282 (GCM), RFC 4309 (CCM), RFC 7634 (ChaCha20-Poly1305).

use keytoll_engine::algorithm::{BlockCipher, Encryption};
use keytoll_engine::crypto::Rejected;
use keytoll_native::awslc::aead::{self, Aead};
use keytoll_native::awslc::aes::{self, DecryptKey, EncryptKey};
use keytoll_native::awslc::des::{self, TripleKey};

use crate::ccm;
use crate::contexts::Contexts;

/// Encrypts one block in place.
///
/// # Panics
/// If key or block have another length than the cipher says: a bug of the caller.
pub(crate) fn block(cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
    assert_eq!(key.len(), cipher.key_len(), "length of the {cipher} key");
    match cipher {
        BlockCipher::Aes128 => EncryptKey::new(key).block(block.try_into().expect("a block of AES")),
        BlockCipher::Des => des::SingleKey::new(key.try_into().expect("as checked"))
            .block(block.try_into().expect("a block of DES")),
    }
}

/// What an algorithm is made of, once its lengths are known.
enum Mode {
    Null,
    TripleDesCbc,
    AesCbc,
    AesCtr,
    AesCcm,
    Evp(Aead),
}

/// The keying material of one message.
pub(crate) struct Keyed<'a> {
    algorithm: Encryption,
    key: &'a [u8],
    salt: &'a [u8],
    iv: &'a [u8],
}

impl<'a> Keyed<'a> {
    /// Splits key and salt.
    ///
    /// # Panics
    /// If key or IV have another length than their algorithm says: a bug of the caller.
    pub(crate) fn new(algorithm: Encryption, key: &'a [u8], iv: &'a [u8]) -> Self {
        assert_eq!(key.len(), algorithm.key_len(), "length of the {algorithm} key and salt");
        assert_eq!(iv.len(), algorithm.iv_len(), "length of the {algorithm} IV");
        let (key, salt) = key.split_at(algorithm.cipher_key_len());
        Self { algorithm, key, salt, iv }
    }

    /// Encrypts in place and writes the tag.
    pub(crate) fn encrypt(&self, contexts: &mut Contexts, aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
        assert_eq!(tag.len(), self.algorithm.tag_len(), "length of the {} tag", self.algorithm);
        match self.mode() {
            Mode::Null => {}
            Mode::TripleDesCbc => self.triple_des().cbc_encrypt(&self.iv_array(), data),
            Mode::AesCbc => EncryptKey::new(self.key).cbc(&mut self.iv_array(), data),
            Mode::AesCtr => self.counter_mode(data),
            Mode::AesCcm => ccm::seal(self.key, &self.nonce::<11>(), aad, data, tag),
            Mode::Evp(aead) => self.with(contexts, aead, |key| key.seal(&self.nonce(), aad, data, tag)),
        }
    }

    /// Decrypts in place, checking lengths and tag.
    pub(crate) fn decrypt(
        &self,
        contexts: &mut Contexts,
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.check_lengths(data, tag)?;
        match self.mode() {
            Mode::Null => {}
            Mode::TripleDesCbc => self.triple_des().cbc_decrypt(&self.iv_array(), data),
            Mode::AesCbc => DecryptKey::new(self.key).cbc(&mut self.iv_array(), data),
            Mode::AesCtr => self.counter_mode(data),
            Mode::AesCcm => return ccm::open(self.key, &self.nonce::<11>(), aad, data, tag),
            Mode::Evp(aead) => return self.with(contexts, aead, |key| self.open(key, aad, data, tag)),
        }
        Ok(())
    }

    /// What the peer sent must be whole blocks and have a tag of the right length.
    pub(crate) fn check_lengths(&self, data: &[u8], tag: &[u8]) -> Result<(), Rejected> {
        let whole = data.len().is_multiple_of(self.algorithm.block_len());
        (whole && tag.len() == self.algorithm.tag_len()).then_some(()).ok_or(Rejected)
    }

    fn open(&self, key: &aead::Key, aad: &[u8], data: &mut [u8], tag: &[u8]) -> Result<(), Rejected> {
        key.open(&self.nonce(), aad, data, tag).then_some(()).ok_or(Rejected)
    }

    fn with<T>(&self, contexts: &mut Contexts, aead: Aead, operation: impl FnOnce(&aead::Key) -> T) -> T {
        contexts.with(self.algorithm, aead, self.key, operation)
    }

    fn triple_des(&self) -> TripleKey {
        TripleKey::new(self.key.try_into().expect("a 3DES key has 24 bytes, as checked"))
    }

    /// RFC 3686 §4: the counter block is nonce(4) IV(8) and a counter that starts at one.
    fn counter_mode(&self, data: &mut [u8]) {
        let mut counter = [0; aes::BLOCK];
        counter[..12].copy_from_slice(&self.nonce::<12>());
        counter[aes::BLOCK - 1] = 1;
        EncryptKey::new(self.key).ctr(&mut counter, data);
    }

    /// Salt and IV together (RFC 4106 §4, RFC 4309 §4, RFC 7634 §2).
    fn nonce<const N: usize>(&self) -> [u8; N] {
        let mut nonce = [0; N];
        let (salt, iv) = nonce.split_at_mut(self.salt.len());
        salt.copy_from_slice(self.salt);
        iv.copy_from_slice(self.iv);
        nonce
    }

    fn iv_array<const N: usize>(&self) -> [u8; N] {
        self.iv.try_into().expect("the IV is as long as its cipher's block, as checked")
    }

    /// The cipher's own key, for another library.
    #[cfg(feature = "ossl")]
    pub(crate) fn key(&self) -> &[u8] {
        self.key
    }

    /// IV, nonce or first counter block, for another library.
    #[cfg(feature = "ossl")]
    pub(crate) fn whole_iv(&self) -> Vec<u8> {
        let counter: &[u8] = if matches!(self.mode(), Mode::AesCtr) { &[0, 0, 0, 1] } else { &[] };
        [self.salt, self.iv, counter].concat()
    }

    fn mode(&self) -> Mode {
        match self.algorithm {
            Encryption::Null => Mode::Null,
            Encryption::TripleDesCbc => Mode::TripleDesCbc,
            Encryption::Aes128Cbc | Encryption::Aes192Cbc | Encryption::Aes256Cbc => Mode::AesCbc,
            Encryption::Aes128Ctr | Encryption::Aes192Ctr | Encryption::Aes256Ctr => Mode::AesCtr,
            Encryption::ChaCha20Poly1305 => Mode::Evp(Aead::ChaCha20Poly1305),
            ccm if ccm.is_ccm() => Mode::AesCcm,
            _ => Mode::Evp(Aead::AesGcm),
        }
    }
}

const _: () = assert!(aead::NONCE == 12 && des::BLOCK == 8, "the lengths this file relies on");

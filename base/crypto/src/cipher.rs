//! Encryption as IKE and ESP use it: the layout of key, salt, IV and nonce. RFC 3602 and RFC 2451 (CBC), RFC 3686 (CTR),
//! RFC 4106 and RFC 5282 (GCM), RFC 4309 (CCM), RFC 4543 (GMAC), RFC 7634 (ChaCha20-Poly1305).

use keytoll_crypto_api::algorithm::{BlockCipher, Encryption, KeyWrap};
use keytoll_crypto_api::{Rejected, Secret};
use keytoll_native::awslc::aead::{self, Aead};
use keytoll_native::awslc::aes::{self, DecryptKey, EncryptKey};
use keytoll_native::awslc::des::{self, TripleKey};

use zeroize::Zeroizing;

use crate::ccm;

/// Encrypts one block in place.
///
/// # Panics
/// If the key or block has another length than the cipher's, which is a bug in the caller.
pub(crate) fn block(cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
    assert_eq!(key.len(), cipher.key_len(), "length of the {cipher} key");
    match cipher {
        BlockCipher::Aes128 | BlockCipher::Aes256 => {
            EncryptKey::new(key).block(block.try_into().expect("a block of AES"));
        }
        BlockCipher::Des => des::SingleKey::new(key.try_into().expect("as checked"))
            .block(block.try_into().expect("a block of DES")),
    }
}

/// Wraps keys.
///
/// # Panics
/// If the key or what is wrapped has a length that the cipher does not take, which is a bug in the caller.
pub(crate) fn wrap(cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8> {
    assert!(key.len() == cipher.key_len() && KeyWrap::fits(data.len()), "lengths of {cipher} key wrap");
    let mut wrapped = vec![0; data.len() + KeyWrap::OVERHEAD];
    EncryptKey::new(key).wrap(data, &mut wrapped);
    wrapped
}

/// Unwraps keys.
///
/// # Panics
/// If the key that wraps has another length than the cipher's, which is a bug in the caller.
pub(crate) fn unwrap(cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
    assert_eq!(key.len(), cipher.key_len(), "length of the {cipher} key");
    let mut data = Zeroizing::new(vec![0; unwrapped_len(wrapped)?]);
    let authentic = DecryptKey::new(key).unwrap(wrapped, &mut data);
    authentic.then(|| Secret::from(&data[..])).ok_or(Rejected)
}

/// The length of the keys in here, which the peer chose.
pub(crate) fn unwrapped_len(wrapped: &[u8]) -> Result<usize, Rejected> {
    wrapped.len().checked_sub(KeyWrap::OVERHEAD).filter(|&len| KeyWrap::fits(len)).ok_or(Rejected)
}

/// What a key is expanded for; AES-CBC has two schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

/// A cipher with its key expanded.
pub(crate) enum Cipher {
    Null,
    TripleDesCbc(TripleKey),
    AesCbcEncrypt(EncryptKey),
    AesCbcDecrypt(DecryptKey),
    AesCtr(EncryptKey),
    AesCcm(EncryptKey),
    Evp(aead::Key),
    /// With a buffer for the authenticated data, which the library needs in one piece.
    AesGmac(aead::Key, Vec<u8>),
}

impl Cipher {
    /// Expands a key without its salt.
    pub(crate) fn new(algorithm: Encryption, key: &[u8], direction: Direction) -> Self {
        let evp = |aead| aead::Key::new(aead, key, algorithm.tag_len());
        match algorithm {
            Encryption::Null => Self::Null,
            Encryption::TripleDesCbc => Self::TripleDesCbc(TripleKey::new(
                key.try_into().expect("a 3DES key has 24 bytes, as checked"),
            )),
            Encryption::Aes128Cbc | Encryption::Aes192Cbc | Encryption::Aes256Cbc => match direction {
                Direction::Encrypt => Self::AesCbcEncrypt(EncryptKey::new(key)),
                Direction::Decrypt => Self::AesCbcDecrypt(DecryptKey::new(key)),
            },
            Encryption::Aes128Ctr | Encryption::Aes192Ctr | Encryption::Aes256Ctr => {
                Self::AesCtr(EncryptKey::new(key))
            }
            Encryption::ChaCha20Poly1305 => Self::Evp(evp(Aead::ChaCha20Poly1305)),
            ccm if ccm.is_ccm() => Self::AesCcm(EncryptKey::new(key)),
            gmac if gmac.is_gmac() => Self::AesGmac(evp(Aead::AesGcm), Vec::new()),
            _ => Self::Evp(evp(Aead::AesGcm)),
        }
    }

    /// Encrypts in place and writes the tag.
    #[inline]
    pub(crate) fn encrypt(&mut self, salt: &[u8], iv: &[u8], aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
        match self {
            Self::Null => {}
            Self::TripleDesCbc(key) => key.cbc_encrypt(&block_iv(iv), data),
            Self::AesCbcEncrypt(key) => key.cbc(&mut block_iv(iv), data),
            Self::AesCbcDecrypt(_) => unreachable!("the key was expanded to encrypt"),
            Self::AesCtr(key) => key.ctr(&mut first_counter(salt, iv), data),
            Self::AesCcm(key) if salt.is_empty() => {
                ccm::seal(key, &nonce::<13>(salt, iv), aad, data, tag);
            }
            Self::AesCcm(key) => ccm::seal(key, &nonce::<11>(salt, iv), aad, data, tag),
            Self::Evp(key) => key.seal(&evp_nonce(salt, iv), aad, data, tag),
            Self::AesGmac(key, gathered) => {
                gather(gathered, aad, if salt.is_empty() { &[] } else { iv }, data);
                key.seal(&nonce(salt, iv), gathered, &mut [], tag);
            }
        }
    }

    /// Decrypts in place and checks the tag; lengths have been checked.
    pub(crate) fn decrypt(
        &mut self,
        salt: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        let authentic = match self {
            Self::AesCcm(key) if salt.is_empty() => {
                return ccm::open(key, &nonce::<13>(salt, iv), aad, data, tag);
            }
            Self::AesCcm(key) => return ccm::open(key, &nonce::<11>(salt, iv), aad, data, tag),
            Self::Evp(key) => key.open(&evp_nonce(salt, iv), aad, data, tag),
            Self::AesGmac(key, gathered) => {
                gather(gathered, aad, if salt.is_empty() { &[] } else { iv }, data);
                key.open(&nonce(salt, iv), gathered, &mut [], tag)
            }
            unauthenticated => {
                unauthenticated.decrypt_only(salt, iv, data);
                true
            }
        };
        authentic.then_some(()).ok_or(Rejected)
    }

    fn decrypt_only(&self, salt: &[u8], iv: &[u8], data: &mut [u8]) {
        match self {
            Self::TripleDesCbc(key) => key.cbc_decrypt(&block_iv(iv), data),
            Self::AesCbcDecrypt(key) => key.cbc(&mut block_iv(iv), data),
            Self::AesCbcEncrypt(_) => unreachable!("the key was expanded to decrypt"),
            Self::AesCtr(key) => key.ctr(&mut first_counter(salt, iv), data),
            Self::Null | Self::AesCcm(_) | Self::Evp(_) | Self::AesGmac(..) => {}
        }
    }
}

/// RFC 4543 §3.3, §3.4: the AAD of GCM is the AAD of GMAC, then the IV, then the payload, which stays readable. There is no IV
/// if the nonce is given whole.
fn gather(gathered: &mut Vec<u8>, aad: &[u8], iv: &[u8], data: &[u8]) {
    gathered.clear();
    [aad, iv, data].into_iter().for_each(|part| gathered.extend_from_slice(part));
}

fn block_iv<const N: usize>(iv: &[u8]) -> [u8; N] {
    iv.try_into().expect("the IV is as long as its cipher's block, as checked")
}

/// RFC 3686 §4: the counter block is nonce(4) IV(8) and a counter that starts at one.
fn first_counter(salt: &[u8], iv: &[u8]) -> [u8; aes::BLOCK] {
    let mut counter = [0; aes::BLOCK];
    counter[..12].copy_from_slice(&nonce::<12>(salt, iv));
    counter[aes::BLOCK - 1] = 1;
    counter
}

/// Salt and IV together (RFC 4106 §4, RFC 4309 §4, RFC 7634 §2).
fn nonce<const N: usize>(salt: &[u8], iv: &[u8]) -> [u8; N] {
    let mut nonce = [0; N];
    let (head, tail) = nonce.split_at_mut(salt.len());
    head.copy_from_slice(salt);
    tail.copy_from_slice(iv);
    nonce
}

/// As [`nonce`], for ciphers whose time per packet matters: written in the two words that the library reads, because a load
/// that spans two stores has to wait for both.
#[inline]
fn evp_nonce(salt: &[u8], iv: &[u8]) -> [u8; aead::NONCE] {
    if salt.is_empty() {
        return iv.try_into().expect("a whole nonce, as checked");
    }
    let salt = u32::from_be_bytes(salt.try_into().expect("a salt of 4 bytes, as checked"));
    let iv = u64::from_be_bytes(iv.try_into().expect("an IV of 8 bytes, as checked"));
    let mut nonce = [0; aead::NONCE];
    nonce[..8].copy_from_slice(&(u64::from(salt) << 32 | iv >> 32).to_be_bytes());
    nonce[8..].copy_from_slice(&(iv as u32).to_be_bytes());
    nonce
}

/// Checks that the peer's data is whole blocks and its tag has the right length.
pub(crate) fn check_lengths(algorithm: Encryption, data: &[u8], tag: &[u8]) -> Result<(), Rejected> {
    let whole = data.len().is_multiple_of(algorithm.block_len());
    (whole && tag.len() == algorithm.tag_len()).then_some(()).ok_or(Rejected)
}

/// The cipher's own key, and the salt, which is empty if nonces are given whole.
///
/// # Panics
/// If the key has another length than the algorithm's, which is a bug in the caller.
pub(crate) fn split(algorithm: Encryption, key: &[u8]) -> (&[u8], &[u8]) {
    if !algorithm.is_unsalted(key.len()) {
        assert_eq!(key.len(), algorithm.key_len(), "length of the {algorithm} key and salt");
    }
    key.split_at(algorithm.cipher_key_len())
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
    /// If key or IV have another length than the algorithm's, which is a bug in the caller.
    pub(crate) fn new(algorithm: Encryption, key: &'a [u8], iv: &'a [u8]) -> Self {
        let (key, salt) = split(algorithm, key);
        let whole = algorithm.whole_nonce_len().filter(|_| salt.is_empty());
        assert_eq!(iv.len(), whole.unwrap_or(algorithm.iv_len()), "length of the {algorithm} IV");
        Self { algorithm, key, salt, iv }
    }

    /// Encrypts in place and writes the tag.
    pub(crate) fn encrypt(&self, aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
        assert_eq!(tag.len(), self.algorithm.tag_len(), "length of the {} tag", self.algorithm);
        let mut cipher = Cipher::new(self.algorithm, self.key, Direction::Encrypt);
        cipher.encrypt(self.salt, self.iv, aad, data, tag);
    }

    /// Decrypts in place, checking lengths and tag.
    pub(crate) fn decrypt(&self, aad: &[u8], data: &mut [u8], tag: &[u8]) -> Result<(), Rejected> {
        check_lengths(self.algorithm, data, tag)?;
        let mut cipher = Cipher::new(self.algorithm, self.key, Direction::Decrypt);
        cipher.decrypt(self.salt, self.iv, aad, data, tag)
    }

    /// The cipher's own key, for another library.
    #[cfg(feature = "ossl")]
    pub(crate) fn key(&self) -> &[u8] {
        self.key
    }

    /// Whether the IV is the whole nonce.
    #[cfg(feature = "ossl")]
    pub(crate) fn is_unsalted(&self) -> bool {
        self.algorithm.is_unsalted(self.key.len() + self.salt.len())
    }

    /// IV, nonce or first counter block, for another library.
    #[cfg(feature = "ossl")]
    pub(crate) fn whole_iv(&self) -> Vec<u8> {
        use Encryption as E;
        let counts = matches!(self.algorithm, E::Aes128Ctr | E::Aes192Ctr | E::Aes256Ctr);
        let counter: &[u8] = if counts { &[0, 0, 0, 1] } else { &[] };
        [self.salt, self.iv, counter].concat()
    }
}

const _: () = assert!(aead::NONCE == 12 && des::BLOCK == 8, "the lengths this file relies on");

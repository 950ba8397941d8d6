//! Record protection: RFC 8446 §5.2 (TLS 1.3), RFC 5288 §3 (GCM in TLS 1.2), RFC 7905 §2 (ChaCha20-Poly1305 in 1.2).
//!
//! Three ways to form a 12-byte nonce, of which the crypto trait takes the first four bytes with the key and eight as IV:
//!
//! ```text
//!   TLS 1.3, and ChaCha20 in 1.2    iv(12) xor sequence number
//!   GCM in 1.2                      fixed(4), explicit(8) in front of the ciphertext
//! ```

use keytoll_crypto_api::algorithm::Encryption;
use rustls::Error;
use rustls::crypto::cipher::{
    AeadKey, BorrowedPayload, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, NONCE_LEN, Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
    Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError, make_tls12_aad, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion};
use zeroize::Zeroizing;

use crate::lent::lent;

/// One AEAD in both versions of TLS.
pub(crate) struct Aead(pub(crate) Encryption);

/// RFC 5288 §3: the explicit part of the nonce.
const EXPLICIT_LEN: usize = 8;
/// RFC 5288 §3: the implicit part.
const SALT_LEN: usize = NONCE_LEN - EXPLICIT_LEN;
/// RFC 5116 §5: all AEADs here have it.
const TAG_LEN: usize = 16;
/// RFC 8446 §5.1: plaintext of a record.
const PLAINTEXT_LEN_MAX: usize = 1 << 14;

impl Aead {
    fn is_gcm(&self) -> bool {
        self.0 != Encryption::ChaCha20Poly1305
    }

    fn secrets(&self, key: AeadKey, iv: Iv) -> ConnectionTrafficSecrets {
        match self.0 {
            Encryption::Aes128Gcm16 => ConnectionTrafficSecrets::Aes128Gcm { key, iv },
            Encryption::Aes256Gcm16 => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
            _ => ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
        }
    }
}

impl Tls13AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Tls13(Keyed::new(self.0, &key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Tls13(Keyed::new(self.0, &key, iv)))
    }

    fn key_len(&self) -> usize {
        self.0.cipher_key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(self.secrets(key, iv))
    }
}

impl Tls12AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: &[u8], explicit: &[u8]) -> Box<dyn MessageEncrypter> {
        let keyed = Keyed::new(self.0, &key, nonce_base(iv, explicit));
        if self.is_gcm() { Box::new(Tls12Gcm(keyed)) } else { Box::new(Tls12ChaCha(keyed)) }
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        let keyed = Keyed::new(self.0, &key, nonce_base(iv, &[]));
        if self.is_gcm() { Box::new(Tls12Gcm(keyed)) } else { Box::new(Tls12ChaCha(keyed)) }
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        let explicit_nonce_len = if self.is_gcm() { EXPLICIT_LEN } else { 0 };
        KeyBlockShape {
            enc_key_len: self.0.cipher_key_len(),
            fixed_iv_len: NONCE_LEN - explicit_nonce_len,
            explicit_nonce_len,
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(self.secrets(key, nonce_base(iv, explicit)))
    }
}

/// The value that the sequence number is XORed with; missing bytes are zero.
fn nonce_base(iv: &[u8], explicit: &[u8]) -> Iv {
    let mut base = [0; NONCE_LEN];
    base.iter_mut().zip(iv.iter().chain(explicit)).for_each(|(to, from)| *to = *from);
    Iv::from(base)
}

/// The key of one direction.
struct Keyed {
    algorithm: Encryption,
    /// Key and salt, as the crypto trait takes them; the longest key has 32 bytes.
    key: Zeroizing<[u8; 32 + SALT_LEN]>,
    iv: Iv,
}

impl Keyed {
    fn new(algorithm: Encryption, key: &AeadKey, iv: Iv) -> Self {
        let mut salted = Zeroizing::new([0; 32 + SALT_LEN]);
        let parts = key.as_ref().iter().chain(&iv.as_ref()[..SALT_LEN]);
        salted.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        Self { algorithm, key: salted, iv }
    }

    fn key(&self) -> &[u8] {
        &self.key[..self.algorithm.key_len()]
    }

    /// The nonce without its first four bytes, which never change, because the sequence number has eight.
    fn explicit(&self, sequence: u64) -> [u8; EXPLICIT_LEN] {
        let nonce = Nonce::new(&self.iv, sequence).0;
        *nonce.last_chunk().expect("a nonce has more than eight bytes")
    }

    /// Encrypts the bytes of `payload` after `skip` and appends the tag.
    fn seal(&self, explicit: &[u8; EXPLICIT_LEN], aad: &[u8], payload: &mut PrefixedPayload, skip: usize) {
        let mut tag = [0; TAG_LEN];
        let data = &mut payload.as_mut()[skip..];
        lent(|lent| lent.crypto.encrypt(self.algorithm, self.key(), explicit, aad, data, &mut tag));
        payload.extend_from_slice(&tag);
    }

    /// Decrypts ciphertext and tag in place; returns the length of the plaintext.
    fn open(&self, explicit: &[u8; EXPLICIT_LEN], aad: &[u8], sealed: &mut [u8]) -> Result<usize, Error> {
        let (data, tag) = sealed.split_last_chunk_mut::<TAG_LEN>().ok_or(Error::DecryptError)?;
        lent(|lent| lent.crypto.decrypt(self.algorithm, self.key(), explicit, aad, data, tag))
            .map_err(|_| Error::DecryptError)?;
        match data.len() {
            len if len > PLAINTEXT_LEN_MAX + 1 => Err(Error::PeerSentOversizedRecord),
            len => Ok(len),
        }
    }
}

/// TLS 1.3: the content type is appended and encrypted.
struct Tls13(Keyed);

impl MessageEncrypter for Tls13 {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let total = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(total);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        self.0.seal(&self.0.explicit(sequence), &make_tls13_aad(total), &mut payload, 0);
        // RFC 8446 §5.2: all protected records look like application data of TLS 1.2.
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, len: usize) -> usize {
        len + 1 + TAG_LEN
    }
}

impl MessageDecrypter for Tls13 {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let aad = make_tls13_aad(message.payload.len());
        let len = self.0.open(&self.0.explicit(sequence), &aad, &mut message.payload)?;
        message.payload.truncate(len);
        message.into_tls13_unpadded_message()
    }
}

/// GCM in TLS 1.2: half of the nonce is sent.
struct Tls12Gcm(Keyed);

impl MessageEncrypter for Tls12Gcm {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let explicit = self.0.explicit(sequence);
        let aad = make_tls12_aad(sequence, message.typ, message.version, message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(message.payload.len()));
        payload.extend_from_slice(&explicit);
        payload.extend_from_chunks(&message.payload);
        self.0.seal(&explicit, &aad, &mut payload, EXPLICIT_LEN);
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, len: usize) -> usize {
        EXPLICIT_LEN + len + TAG_LEN
    }
}

impl MessageDecrypter for Tls12Gcm {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain_len = plain_len(&message.payload, EXPLICIT_LEN + TAG_LEN)?;
        let aad = make_tls12_aad(sequence, message.typ, message.version, plain_len);
        let (explicit, sealed) =
            message.payload.split_first_chunk_mut::<EXPLICIT_LEN>().ok_or(Error::DecryptError)?;
        let len = self.0.open(&*explicit, &aad, sealed)?;
        Ok(message.into_plain_message_range(EXPLICIT_LEN..EXPLICIT_LEN + len))
    }
}

/// ChaCha20-Poly1305 in TLS 1.2: the nonce is not sent.
struct Tls12ChaCha(Keyed);

impl MessageEncrypter for Tls12ChaCha {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let aad = make_tls12_aad(sequence, message.typ, message.version, message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(message.payload.len()));
        payload.extend_from_chunks(&message.payload);
        self.0.seal(&self.0.explicit(sequence), &aad, &mut payload, 0);
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, len: usize) -> usize {
        len + TAG_LEN
    }
}

impl MessageDecrypter for Tls12ChaCha {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain_len = plain_len(&message.payload, TAG_LEN)?;
        let aad = make_tls12_aad(sequence, message.typ, message.version, plain_len);
        let len = self.0.open(&self.0.explicit(sequence), &aad, &mut message.payload)?;
        message.payload.truncate(len);
        Ok(message.into_plain_message())
    }
}

/// RFC 5246 §6.2.1: the plaintext length of a record with this much overhead.
fn plain_len(payload: &BorrowedPayload<'_>, overhead: usize) -> Result<usize, Error> {
    let len = payload.len().checked_sub(overhead).ok_or(Error::DecryptError)?;
    if len > PLAINTEXT_LEN_MAX { Err(Error::PeerSentOversizedRecord) } else { Ok(len) }
}

//! The cipher suites: RFC 8446 §B.4 (TLS 1.3), RFC 5289 §3 and RFC 7905 §2 (TLS 1.2, ECDHE with an AEAD).

use keytoll_crypto_api::algorithm::Encryption;
use rustls::crypto::tls12::PrfUsingHmac;
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, KeyExchangeAlgorithm};
use rustls::{CipherSuite, SignatureScheme, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use crate::aead::Aead;
use crate::hash::{HMAC_SHA256, HMAC_SHA384, SHA256, SHA384, Transcript};

/// All suites in order of preference: that of OpenSSL, which puts strength before speed.
pub(crate) static SUITES: [SupportedCipherSuite; 9] = [
    SupportedCipherSuite::Tls13(&AES_256_GCM),
    SupportedCipherSuite::Tls13(&CHACHA20),
    SupportedCipherSuite::Tls13(&AES_128_GCM),
    SupportedCipherSuite::Tls12(&ECDSA_AES_256_GCM),
    SupportedCipherSuite::Tls12(&RSA_AES_256_GCM),
    SupportedCipherSuite::Tls12(&ECDSA_CHACHA20),
    SupportedCipherSuite::Tls12(&RSA_CHACHA20),
    SupportedCipherSuite::Tls12(&ECDSA_AES_128_GCM),
    SupportedCipherSuite::Tls12(&RSA_AES_128_GCM),
];

static AEAD_AES_128_GCM: Aead = Aead(Encryption::Aes128Gcm16);
static AEAD_AES_256_GCM: Aead = Aead(Encryption::Aes256Gcm16);
static AEAD_CHACHA20: Aead = Aead(Encryption::ChaCha20Poly1305);

static HKDF_SHA256: HkdfUsingHmac<'static> = HkdfUsingHmac(&HMAC_SHA256);
static HKDF_SHA384: HkdfUsingHmac<'static> = HkdfUsingHmac(&HMAC_SHA384);
static PRF_SHA256: PrfUsingHmac<'static> = PrfUsingHmac(&HMAC_SHA256);
static PRF_SHA384: PrfUsingHmac<'static> = PrfUsingHmac(&HMAC_SHA384);

/// RFC 8446 §5.5: maximum number of records under one key with GCM; ChaCha20-Poly1305 never reaches its limit.
const GCM_RECORDS_MAX: u64 = 1 << 24;

const fn common(
    suite: CipherSuite,
    hash_provider: &'static Transcript,
    records_max: u64,
) -> CipherSuiteCommon {
    CipherSuiteCommon { suite, hash_provider, confidentiality_limit: records_max }
}

static AES_128_GCM: Tls13CipherSuite = Tls13CipherSuite {
    common: common(CipherSuite::TLS13_AES_128_GCM_SHA256, &SHA256, GCM_RECORDS_MAX),
    hkdf_provider: &HKDF_SHA256,
    aead_alg: &AEAD_AES_128_GCM,
    quic: None,
};

static AES_256_GCM: Tls13CipherSuite = Tls13CipherSuite {
    common: common(CipherSuite::TLS13_AES_256_GCM_SHA384, &SHA384, GCM_RECORDS_MAX),
    hkdf_provider: &HKDF_SHA384,
    aead_alg: &AEAD_AES_256_GCM,
    quic: None,
};

static CHACHA20: Tls13CipherSuite = Tls13CipherSuite {
    common: common(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    hkdf_provider: &HKDF_SHA256,
    aead_alg: &AEAD_CHACHA20,
    quic: None,
};

static ECDSA_AES_128_GCM: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, &SHA256, GCM_RECORDS_MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_ECDSA,
    aead_alg: &AEAD_AES_128_GCM,
    prf_provider: &PRF_SHA256,
};

static ECDSA_AES_256_GCM: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, &SHA384, GCM_RECORDS_MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_ECDSA,
    aead_alg: &AEAD_AES_256_GCM,
    prf_provider: &PRF_SHA384,
};

static ECDSA_CHACHA20: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_ECDSA,
    aead_alg: &AEAD_CHACHA20,
    prf_provider: &PRF_SHA256,
};

static RSA_AES_128_GCM: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, &SHA256, GCM_RECORDS_MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_RSA,
    aead_alg: &AEAD_AES_128_GCM,
    prf_provider: &PRF_SHA256,
};

static RSA_AES_256_GCM: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, &SHA384, GCM_RECORDS_MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_RSA,
    aead_alg: &AEAD_AES_256_GCM,
    prf_provider: &PRF_SHA384,
};

static RSA_CHACHA20: Tls12CipherSuite = Tls12CipherSuite {
    common: common(CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: SIGN_RSA,
    aead_alg: &AEAD_CHACHA20,
    prf_provider: &PRF_SHA256,
};

/// RFC 8422 §5.10: EdDSA signs under the ECDSA suites.
static SIGN_ECDSA: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
];

static SIGN_RSA: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

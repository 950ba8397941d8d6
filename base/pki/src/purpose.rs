//! The purposes that a certificate lists. Read RFC 5280 §4.2.1.12, RFC 4945 §5.1.3.12 and RFC 5216 §5.3 first.

use webpki::{
    ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, KeyUsage, RequiredEkuNotFoundContext,
};

/// What the peer uses its certificate for. A certificate (and every authority on its path, but not the anchor) that lists
/// purposes in an ExtendedKeyUsage must list one of these or anyExtendedKeyUsage; without the extension, every purpose is
/// allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// IKE, of either side: id-kp-ipsecIKE and its predecessors, id-kp-serverAuth, id-kp-clientAuth.
    Ike,
    /// To be the server of TLS: id-kp-serverAuth.
    TlsServer,
    /// To be the client of TLS: id-kp-clientAuth.
    TlsClient,
}

/// 2.5.29.37.0, anyExtendedKeyUsage.
const ANY: &[u8] = b"\x55\x1d\x25\x00";
/// 1.3.6.1.5.5.7.3.1, id-kp-serverAuth.
const SERVER_AUTH: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x01";
/// 1.3.6.1.5.5.7.3.2, id-kp-clientAuth.
const CLIENT_AUTH: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x02";
/// 1.3.6.1.5.5.7.3.5, id-kp-ipsecEndSystem.
const IPSEC_END_SYSTEM: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x05";
/// 1.3.6.1.5.5.7.3.6, id-kp-ipsecTunnel.
const IPSEC_TUNNEL: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x06";
/// 1.3.6.1.5.5.7.3.7, id-kp-ipsecUser.
const IPSEC_USER: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x07";
/// 1.3.6.1.5.5.7.3.17, id-kp-ipsecIKE.
const IPSEC_IKE: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x11";
/// 1.3.6.1.5.5.8.2.2, iKEIntermediate of an Internet-Draft, which other implementations still require.
const IKE_INTERMEDIATE: &[u8] = b"\x2b\x06\x01\x05\x05\x08\x02\x02";

impl Purpose {
    const fn accepted(self) -> &'static [&'static [u8]] {
        match self {
            // RFC 4945 §5.1.3.12: id-kp-ipsecIKE or any. The purposes of TLS are accepted as well, because other vendors' clients
            // demand id-kp-serverAuth of a gateway; those of code signing, mail and time stamps are not.
            Self::Ike => &[
                ANY,
                IPSEC_IKE,
                IKE_INTERMEDIATE,
                SERVER_AUTH,
                CLIENT_AUTH,
                IPSEC_END_SYSTEM,
                IPSEC_TUNNEL,
                IPSEC_USER,
            ],
            // RFC 5216 §5.3: a client's certificate is not accepted from a server, nor the other way round.
            Self::TlsServer => &[ANY, SERVER_AUTH],
            Self::TlsClient => &[ANY, CLIENT_AUTH],
        }
    }
}

impl ExtendedKeyUsageValidator for Purpose {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let purposes = purposes.collect::<Result<Vec<_>, _>>()?;
        let is_good =
            |listed: &KeyPurposeId<'_>| self.accepted().iter().any(|oid| *listed == KeyPurposeId::new(oid));
        if purposes.is_empty() || purposes.iter().any(is_good) {
            return Ok(());
        }
        let present = purposes.iter().map(KeyPurposeId::to_decoded_oid).collect();
        let required = KeyUsage::required_if_present(self.accepted()[1]);
        Err(webpki::Error::RequiredEkuNotFoundContext(RequiredEkuNotFoundContext { required, present }))
    }
}

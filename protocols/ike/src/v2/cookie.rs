//! Stateless cookies against floods of IKE_SA_INIT, RFC 7296 §2.6.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Digest, Rng, Secret, about};
use keytoll_engine::{Ctx, Time};
use keytoll_net::Socket;

/// RFC 7296 §2.6: the secret is to be changed often under attack; its predecessor remains valid for the same time.
const SECRET_LIFETIME: Duration = Duration::from_secs(60);

/// The responder's secrets: the current one and the one before.
#[derive(Debug)]
pub(super) struct CookieKeys {
    secrets: [Secret; 2],
    /// Counts the secrets; its lowest bit, at the front of each cookie, identifies the secret.
    version: u8,
    renewed: Time,
}

impl CookieKeys {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self { secrets: [fresh(rng), fresh(rng)], version: 0, renewed: Time::ZERO }
    }

    /// Whether they are those it began with.
    pub(super) fn are_first(&self) -> bool {
        (self.version, self.renewed) == (0, Time::ZERO)
    }

    /// The cookie for an initiator: `version(1) prf(secret, Ni | IPi | SPIi)`.
    pub(super) fn make(
        &mut self,
        nonce: &[u8],
        from: Socket,
        spi: u64,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Vec<u8> {
        self.renew(rng, cx.now);
        let mut cookie = vec![self.version];
        cookie.extend_from_slice(&self.digest(self.version, nonce, from, spi, cx));
        cookie
    }

    /// Whether a cookie was made for exactly this initiator.
    pub(super) fn accepts(
        &mut self,
        cookie: &[u8],
        nonce: &[u8],
        from: Socket,
        spi: u64,
        cx: &mut Ctx<'_>,
    ) -> bool {
        let Some((&version, digest)) = cookie.split_first() else { return false };
        let known = version == self.version || version == self.version.wrapping_sub(1);
        known && Secret::from(digest) == Secret::from(&*self.digest(version, nonce, from, spi, cx))
    }

    fn renew(&mut self, rng: &mut Rng, now: Time) {
        if now.since(self.renewed) >= SECRET_LIFETIME {
            self.version = self.version.wrapping_add(1);
            self.secrets[usize::from(self.version & 1)] = fresh(rng);
            self.renewed = now;
        }
    }

    fn digest(&self, version: u8, nonce: &[u8], from: Socket, spi: u64, cx: &mut Ctx<'_>) -> Digest {
        let secret = &self.secrets[usize::from(version & 1)];
        let ip = octets(from.ip);
        let parts: [&[u8]; 4] = [nonce, &ip, &from.port.to_be_bytes(), &spi.to_be_bytes()];
        about(cx.crypto, "COOKIE", |crypto| crypto.prf(Prf::HmacSha256, secret, &parts))
    }
}

/// An address as 16 bytes, IPv4 mapped into IPv6.
fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

fn fresh(rng: &mut Rng) -> Secret {
    Secret::from(&rng.bytes::<32>()[..])
}

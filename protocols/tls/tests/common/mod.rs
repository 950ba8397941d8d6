//! Two ends, a link of vectors between them, and certificates for both.

#![allow(dead_code, reason = "each test file uses its part of these helpers")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::sync::Arc;

use keytoll_crypto::{Null, Provider, Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::{Crypto, Rng, Seed};
use keytoll_engine::trace::{Fact, Revealed, Trace};
use keytoll_engine::{Ctx, Time};
use keytoll_pki::{Anchors, Authority, Request, RevocationList, Validity};
use keytoll_tls::{Client, Config, Failure, Server, Session, Version};

/// A day in 2026, when all certificates here are valid.
pub(crate) const NOW_UNIX_SECONDS: u64 = 1_790_000_000;

/// Certificates of both sides and the anchor they share.
pub(crate) struct World {
    pub(crate) client: Credential,
    pub(crate) server: Credential,
    pub(crate) anchor: Vec<u8>,
    pub(crate) authority: Authority,
}

impl World {
    pub(crate) fn new(kind: KeyKind, chain_length: usize) -> Self {
        Self::valid(kind, chain_length, NOW_UNIX_SECONDS - 1000, NOW_UNIX_SECONDS + 1000)
    }

    pub(crate) fn valid(kind: KeyKind, chain_length: usize, from: u64, until: u64) -> Self {
        Self::seeded(1, kind, chain_length, from, until)
    }

    /// Certificates of an authority with the usual name and a key of its own.
    pub(crate) fn of_a_false_authority(kind: KeyKind) -> Self {
        Self::seeded(2, kind, 2, NOW_UNIX_SECONDS - 1000, NOW_UNIX_SECONDS + 1000)
    }

    fn seeded(seed: u64, kind: KeyKind, chain_length: usize, from: u64, until: u64) -> Self {
        let validity = Validity { from_unix_seconds: from, until_unix_seconds: until };
        let (mut crypto, make) = (Real::default(), &mut keys::generate);
        let mut authority = Authority::new(kind, validity, &Seed::from(seed), make, &mut crypto);
        let mut issue = |name| {
            let request = Request { name, alternatives: &[], kind, chain_length };
            authority.issue(&request, make, &mut crypto)
        };
        let (client, server, anchor) = (issue("peer"), issue("server"), authority.anchor());
        Self { client, server, anchor, authority }
    }

    /// Certificates whose issuer is not presented.
    pub(crate) fn below_an_unknown_authority(kind: KeyKind) -> Self {
        let mut world = Self::new(kind, 3);
        for side in [&mut world.client, &mut world.server] {
            side.chain = side.chain[..1].into();
        }
        world
    }

    pub(crate) fn trust(&self) -> Arc<dyn Trust> {
        self.anchors()
    }

    pub(crate) fn anchors(&self) -> Arc<Anchors> {
        let mut crypto = Real::default();
        Arc::new(Anchors::new([&self.anchor[..]], NOW_UNIX_SECONDS, &mut crypto).unwrap())
    }

    /// Lists that name this certificate, in force for a day.
    pub(crate) fn revocation_lists(&self, revoked: &[u8]) -> Vec<RevocationList> {
        let (from, until) = (NOW_UNIX_SECONDS - 1000, NOW_UNIX_SECONDS + 86_400);
        let dates = Validity { from_unix_seconds: from, until_unix_seconds: until };
        let lists = self.authority.revocation_lists(&[revoked], dates, &mut Real::default());
        lists.iter().map(|der| RevocationList::read(der).unwrap()).collect()
    }

    pub(crate) fn config(&self, credential: &Credential, version: Version) -> Config {
        Config {
            credential: Some(credential.clone()),
            trust: Some(self.trust()),
            oldest: version,
            newest: version,
            ..Config::new()
        }
    }

    pub(crate) fn client(&self, version: Version) -> Config {
        self.config(&self.client, version)
    }

    pub(crate) fn server(&self, version: Version) -> Config {
        self.config(&self.server, version)
    }

    /// The same certificates with keys that only the null provider can use.
    pub(crate) fn without_keys(mut self) -> Self {
        for side in [&mut self.client, &mut self.server] {
            side.key = keys::null(side.key.kind, &side.key.spki.clone());
        }
        self
    }
}

/// One side with its environment.
pub(crate) struct End<C = Provider> {
    pub(crate) session: Option<Session>,
    pub(crate) crypto: C,
    pub(crate) rng: Rng,
    pub(crate) now: Time,
    pub(crate) keys: Keys,
}

/// Stores revealed keys, if it wants them.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) wanted: bool,
    pub(crate) revealed: Vec<Revealed>,
}

impl Trace for Keys {
    fn record(&mut self, _fact: Fact) {}

    fn wants_keys(&self) -> bool {
        self.wanted
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.revealed.push(revealed);
    }
}

impl<C: Crypto> End<C> {
    pub(crate) fn new(crypto: C, name: &str, seed: u64) -> Self {
        let keys = Keys::default();
        Self { session: None, crypto, rng: Rng::named(seed, name), now: Time::ZERO, keys }
    }

    pub(crate) fn client(mut self, config: &Config) -> Self {
        let client = Client::new(config).unwrap();
        self.session = Some(self.lend(|cx, rng| Session::client(&client, cx, rng)).unwrap());
        self
    }

    pub(crate) fn server(mut self, config: &Config) -> Self {
        let server = Server::new(config).unwrap();
        self.session = Some(self.lend(|cx, rng| Session::server(&server, cx, rng)).unwrap());
        self
    }

    pub(crate) fn lend<T>(&mut self, call: impl FnOnce(&mut Ctx<'_>, &mut Rng) -> T) -> T {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.keys };
        call(&mut cx, &mut self.rng)
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        self.session.as_mut().unwrap()
    }

    pub(crate) fn with<T>(&mut self, call: impl FnOnce(&mut Session, &mut Ctx<'_>, &mut Rng) -> T) -> T {
        let mut session = self.session.take().unwrap();
        let result = self.lend(|cx, rng| call(&mut session, cx, rng));
        self.session = Some(session);
        result
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.with(|session, cx, rng| session.feed(bytes, cx, rng))
    }

    pub(crate) fn export(&mut self, label: &str, context: Option<&[u8]>, len: usize) -> Vec<u8> {
        self.with(|session, cx, _| session.export(label.as_bytes(), context, len, cx)).unwrap().to_vec()
    }
}

pub(crate) fn real() -> Provider {
    Provider::Real(Real::default())
}

pub(crate) fn null() -> Provider {
    Provider::Null(Null)
}

/// The result of a handshake: the length of each flight, and the outcome of each side.
pub(crate) struct Outcome {
    pub(crate) flights: Vec<usize>,
    pub(crate) client: Result<(), Failure>,
    pub(crate) server: Result<(), Failure>,
}

/// Carries flights until both sides have nothing to send.
pub(crate) fn shake<A: Crypto, B: Crypto>(client: &mut End<A>, server: &mut End<B>) -> Outcome {
    let mut outcome = Outcome { flights: vec![], client: Ok(()), server: Ok(()) };
    for _ in 0..10 {
        let to_server = client.session().take_output();
        if !to_server.is_empty() {
            outcome.flights.push(to_server.len());
            outcome.server = outcome.server.and(server.feed(&to_server));
        }
        let to_client = server.session().take_output();
        if !to_client.is_empty() {
            outcome.flights.push(to_client.len());
            outcome.client = outcome.client.and(client.feed(&to_client));
        }
        if to_server.is_empty() && to_client.is_empty() {
            return outcome;
        }
    }
    panic!("the handshake does not end: {:?}", outcome.flights);
}

/// Both ends, new, with real crypto.
pub(crate) fn pair(client: &Config, server: &Config) -> (End, End) {
    (End::new(real(), "client", 1).client(client), End::new(real(), "server", 1).server(server))
}

/// A handshake that must succeed.
pub(crate) fn established(client: &Config, server: &Config) -> (End, End) {
    let (mut client, mut server) = pair(client, server);
    let outcome = shake(&mut client, &mut server);
    assert_eq!((outcome.client, outcome.server), (Ok(()), Ok(())));
    assert!(!client.session().is_handshaking() && !server.session().is_handshaking());
    (client, server)
}

//! The `key=value` words of the command line.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::{Real, keys};
use keytoll_engine::credentials::{Credential, Trust};
use keytoll_engine::crypto::Secret;
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, pem};

/// What is said in one line before the program ends.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Each key once.
pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let pair = |word: String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("`{word}` is not key=value").into()),
        };
        words.map(pair).collect::<Result<_>>().map(Self)
    }

    pub(crate) fn get(&self, key: &str) -> Result<&str> {
        self.0.get(key).map(String::as_str).ok_or_else(|| format!("{key}=… is missing").into())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn is(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_some_and(|found| found == value)
    }

    pub(crate) fn parse<T: FromStr<Err: Error + 'static>>(&self, key: &str) -> Result<T> {
        Ok(self.get(key)?.parse()?)
    }

    pub(crate) fn milliseconds(&self, key: &str) -> Option<Duration> {
        self.parse(key).ok().map(Duration::from_millis)
    }

    pub(crate) fn secret(&self, key: &str) -> Result<Secret> {
        Ok(Secret::from(self.get(key)?.as_bytes()))
    }

    /// Our certificate and its key: the files `certificate` and `key`.
    pub(crate) fn credential(&self) -> Result<Credential> {
        let chain = pem::load_certificates(Path::new(self.get("certificate")?))?;
        let key = keys::from_pkcs8(&pem::load_private_key(Path::new(self.get("key")?))?)?;
        Ok(Credential { chain: chain.into(), key })
    }

    /// Whom we trust: the file `root`.
    pub(crate) fn trust(&self) -> Result<Arc<dyn Trust>> {
        let roots = pem::load_certificates(Path::new(self.get("root")?))?;
        let roots = roots.iter().map(Vec::as_slice);
        Ok(Arc::new(Anchors::new(roots, unix_seconds(), &mut Real::default())?))
    }
}

//! A small certificate authority made with the `openssl` program: one root, one leaf for each node. What it writes is
//! read by strongSwan and by keytoll alike, so neither is measured by its own certificates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::Node;
use crate::run::{Trouble, finish, words};

/// What kind of keys the root and the leaves have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA, 2048 bits.
    Rsa2048,
    /// ECDSA on NIST P-256.
    EcdsaP256,
}

impl KeyKind {
    const fn openssl(self) -> &'static str {
        match self {
            Self::Rsa2048 => "-newkey rsa:2048",
            Self::EcdsaP256 => "-newkey ec -pkeyopt ec_paramgen_curve:P-256",
        }
    }
}

/// Where the files are: the root, and for each node a `.crt` and a `.key` (PKCS #8), all PEM.
#[derive(Debug)]
pub struct Pki {
    dir: PathBuf,
    root: PathBuf,
}

impl Pki {
    /// Makes keys and certificates below `dir`.
    pub fn make(dir: &Path, kind: KeyKind) -> Result<Self, Trouble> {
        let dir = dir.join("pki");
        let pki = Self { root: dir.join("root.crt"), dir };
        fs::create_dir_all(&pki.dir)
            .map_err(|source| Trouble::File { what: format!("make {}", pki.dir.display()), source })?;
        pki.root(kind)?;
        pki.leaf(Node::Ue, "DNS:ue.lab,email:ue@lab", kind)?;
        pki.leaf(Node::Gw, "DNS:gw.lab", kind)?;
        pki.leaf(Node::Aaa, "DNS:aaa.lab", kind)?;
        Ok(pki)
    }

    fn root(&self, kind: KeyKind) -> Result<(), Trouble> {
        let mut request = words(&format!(
            "openssl req -x509 -nodes -sha256 -days 30 {} -keyout root.key -out root.crt \
             -subj /C=XX/O=Lab/CN=Lab-root -addext keyUsage=critical,keyCertSign,cRLSign",
            kind.openssl()
        ));
        finish(request.current_dir(&self.dir)).map(drop)
    }

    fn leaf(&self, node: Node, names: &str, kind: KeyKind) -> Result<(), Trouble> {
        let name = node.name();
        let extensions = format!(
            "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n\
             extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName={names}\n"
        );
        let file = self.dir.join(format!("{name}.ext"));
        fs::write(&file, extensions)
            .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        let request = format!(
            "openssl req -new -nodes -sha256 {} -keyout {name}.key -out {name}.csr -subj /C=XX/O=Lab/CN={name}.lab",
            kind.openssl()
        );
        let sign = format!(
            "openssl x509 -req -sha256 -days 30 -in {name}.csr -CA root.crt -CAkey root.key -CAcreateserial \
             -extfile {name}.ext -out {name}.crt"
        );
        [request, sign].iter().try_for_each(|step| finish(words(step).current_dir(&self.dir)).map(drop))
    }

    /// The same keys and certificates, for somebody who trusts another root.
    pub fn trusting(&self, other: &Self) -> Self {
        Self { dir: self.dir.clone(), root: other.root.clone() }
    }

    /// The root certificate.
    pub fn root_certificate(&self) -> PathBuf {
        self.root.clone()
    }

    /// A node's certificate.
    pub fn certificate(&self, node: Node) -> PathBuf {
        self.dir.join(format!("{}.crt", node.name()))
    }

    /// A node's private key.
    pub fn key(&self, node: Node) -> PathBuf {
        self.dir.join(format!("{}.key", node.name()))
    }
}

//! A small certificate authority made with the `openssl` program: one root, intermediate authorities if wanted, one leaf
//! for each node. What it writes is read by strongSwan and by keytoll alike, so neither is measured by its own
//! certificates.

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
    /// ECDSA on NIST P-384.
    EcdsaP384,
    /// ECDSA on NIST P-521.
    EcdsaP521,
    /// Ed25519, RFC 8410.
    Ed25519,
}

impl KeyKind {
    const fn openssl(self) -> &'static str {
        match self {
            Self::Rsa2048 => "-newkey rsa:2048",
            Self::EcdsaP256 => "-newkey ec -pkeyopt ec_paramgen_curve:P-256",
            Self::EcdsaP384 => "-newkey ec -pkeyopt ec_paramgen_curve:P-384",
            Self::EcdsaP521 => "-newkey ec -pkeyopt ec_paramgen_curve:P-521",
            Self::Ed25519 => "-newkey ed25519",
        }
    }

    /// The hash under its signatures; Ed25519 hashes by itself.
    const fn hash(self) -> &'static str {
        match self {
            Self::Ed25519 => "",
            _ => "-sha256",
        }
    }
}

/// What an intermediate authority may do.
const AUTHORITY: &str = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";
/// What a node may do.
const LEAF: &str = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n\
                    extendedKeyUsage=serverAuth,clientAuth\n";

/// Where the files are: the root, and for each node a `.crt` (the leaf, then the intermediate certificates) and a `.key`
/// (PKCS #8), all PEM.
#[derive(Debug)]
pub struct Pki {
    dir: PathBuf,
    root: PathBuf,
    intermediate: Vec<PathBuf>,
}

impl Pki {
    /// Makes keys and certificates below `dir`: chains of two, the root and a leaf.
    pub fn make(dir: &Path, kind: KeyKind) -> Result<Self, Trouble> {
        Self::make_chains(dir, kind, 2)
    }

    /// The same in chains of so many certificates, root and leaf included; of every chain the root stays at home.
    pub fn make_chains(dir: &Path, kind: KeyKind, length: usize) -> Result<Self, Trouble> {
        let dir = dir.join("pki");
        let mut pki = Self { root: dir.join("root.crt"), dir, intermediate: Vec::new() };
        fs::create_dir_all(&pki.dir)
            .map_err(|source| Trouble::File { what: format!("make {}", pki.dir.display()), source })?;
        pki.root(kind)?;
        let mut authorities = vec!["root".to_owned()];
        for number in 1..length.saturating_sub(1) {
            let name = format!("authority{number}");
            pki.issue(&authorities, &name, AUTHORITY, kind)?;
            pki.intermediate.push(pki.dir.join(format!("{name}.crt")));
            authorities.push(name);
        }
        for (node, names) in
            [(Node::Ue, "DNS:ue.lab,email:ue@lab"), (Node::Gw, "DNS:gw.lab"), (Node::Aaa, "DNS:aaa.lab")]
        {
            pki.issue(&authorities, node.name(), &format!("{LEAF}subjectAltName={names}\n"), kind)?;
            pki.append(&authorities, node)?;
            let name = node.name();
            let public = format!("openssl pkey -in {name}.key -pubout -out {name}.pub");
            finish(words(&public).current_dir(&pki.dir))?;
        }
        Ok(pki)
    }

    fn root(&self, kind: KeyKind) -> Result<(), Trouble> {
        let mut request = words(&format!(
            "openssl req -x509 -nodes {} -days 30 {} -keyout root.key -out root.crt \
             -subj /C=XX/O=Lab/CN=Lab-root -addext keyUsage=critical,keyCertSign,cRLSign",
            kind.hash(),
            kind.openssl()
        ));
        finish(request.current_dir(&self.dir)).map(drop)
    }

    /// A certificate of the last of these authorities.
    fn issue(&self, by: &[String], name: &str, extensions: &str, kind: KeyKind) -> Result<(), Trouble> {
        self.write(&format!("{name}.ext"), extensions)?;
        let request = format!(
            "openssl req -new -nodes {} {} -keyout {name}.key -out {name}.csr -subj /C=XX/O=Lab/CN={name}.lab",
            kind.hash(),
            kind.openssl()
        );
        let issuer = by.last().map_or("root", String::as_str);
        let sign = format!(
            "openssl x509 -req {} -days 30 -in {name}.csr -CA {issuer}.crt -CAkey {issuer}.key -CAcreateserial \
             -extfile {name}.ext -out {name}.crt",
            kind.hash()
        );
        [request, sign].iter().try_for_each(|step| finish(words(step).current_dir(&self.dir)).map(drop))
    }

    /// The intermediate certificates come after the leaf, the leaf's own issuer first.
    fn append(&self, authorities: &[String], node: Node) -> Result<(), Trouble> {
        let intermediate = authorities.iter().skip(1).rev().map(|name| format!("{name}.crt"));
        let mut chain = String::new();
        for file in std::iter::once(format!("{}.crt", node.name())).chain(intermediate) {
            let path = self.dir.join(file);
            let what = || format!("read {}", path.display());
            chain += &fs::read_to_string(&path).map_err(|source| Trouble::File { what: what(), source })?;
        }
        self.write(&format!("{}.crt", node.name()), &chain)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Trouble> {
        let file = self.dir.join(name);
        fs::write(&file, text)
            .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })
    }

    /// The same keys and certificates, for somebody who trusts another root.
    pub fn trusting(&self, other: &Self) -> Self {
        Self { dir: self.dir.clone(), root: other.root.clone(), intermediate: self.intermediate.clone() }
    }

    /// The root certificate.
    pub fn root_certificate(&self) -> PathBuf {
        self.root.clone()
    }

    /// The certificates between root and leaves.
    pub fn intermediate_certificates(&self) -> &[PathBuf] {
        &self.intermediate
    }

    /// A node's certificate, and the intermediate ones.
    pub fn certificate(&self, node: Node) -> PathBuf {
        self.dir.join(format!("{}.crt", node.name()))
    }

    /// A node's public key, as `SubjectPublicKeyInfo`.
    pub fn public_key(&self, node: Node) -> PathBuf {
        self.dir.join(format!("{}.pub", node.name()))
    }

    /// A node's private key.
    pub fn key(&self, node: Node) -> PathBuf {
        self.dir.join(format!("{}.key", node.name()))
    }
}

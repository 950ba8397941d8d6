//! The keys of a scenario that stand outside `[options]` and `[population]`: what each may be, and what it is without being named.

/// A key.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// What it may be: words as they are written, ranges with ` to `, and forms in capitals. A test holds them against the
    /// parser.
    pub(crate) values: &'static [&'static str],
    /// What it is without being named.
    pub(crate) default: &'static str,
}

/// Every key of a scenario.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "title",
        about: "one line on what the scenario is about",
        values: &["TEXT"],
        default: "the name of the file",
    },
    Key {
        name: "study",
        about: "the study of a paper that it is made for",
        values: &["STUDY"],
        default: "none",
    },
    Key {
        name: "seed",
        about: "seed of every random stream",
        values: &["0 to 18446744073709551615"],
        default: "1",
    },
    Key {
        name: "samples",
        about: "authentications of each row",
        values: &["1 to 1000000000"],
        default: "30",
    },
    Key {
        name: "interval",
        about: "from the trigger of one authentication to that of the next",
        values: &["1 ms to 604800 s"],
        default: "10 s",
    },
    Key {
        name: "crypto",
        about: "who computes",
        values: &["real", "openssl", "null", "table"],
        default: "real",
    },
    Key {
        name: "costs",
        about: "the file with what operations cost, for `crypto = \"table\"`",
        values: &["FILE", "reference"],
        default: "none",
    },
    Key {
        name: "exponents",
        about: "length of the private exponents of MODP groups",
        values: &["short", "full"],
        default: "short",
    },
    Key {
        name: "world",
        about: "virtual time, or sockets and the real clock",
        values: &["sim", "live"],
        default: "sim",
    },
    Key {
        name: "methods",
        about: "how a device and its gateway, peer or access point authenticate; each makes rows",
        values: &["METHOD, …"],
        default: "none, needed unless there are rows",
    },
    Key {
        name: "networks",
        about: "links between the device and what lets it in; each makes rows",
        values: &["NETWORK, …"],
        default: "none, needed unless there are rows",
    },
    Key {
        name: "topologies",
        about: "which nodes stand where; each makes rows",
        values: &["TOPOLOGY, …"],
        default: "raw",
    },
    Key {
        name: "suites",
        about: "suites of the IKE SA; each makes rows",
        values: &["SUITE, …"],
        default: "what `suite` is",
    },
    Key { name: "options", about: "what all rows have in common", values: &["TABLE"], default: "empty" },
    Key {
        name: "sweep",
        about: "options with several values; each makes rows",
        values: &["TABLE OF LISTS"],
        default: "empty",
    },
    Key {
        name: "cpus",
        about: "the processor of each node, or the cost table of a daemon",
        values: &["TABLE OF CPUS"],
        default: "this machine's",
    },
    Key {
        name: "population",
        about: "many devices in one world instead of one authentication after another",
        values: &["TABLE"],
        default: "none",
    },
    Key {
        name: "row",
        about: "rows written out: method, network, topology, variant, options",
        values: &["TABLE, …"],
        default: "none",
    },
];

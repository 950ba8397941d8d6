//! Third-party daemons in the place of a node: their configuration in a private directory, start, readiness, what they
//! cost, and an end that leaves nothing behind.

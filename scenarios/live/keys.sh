#!/bin/sh
# Keys for the examples beside this file: certificates of gateway, AAA server and HSS, the root that all trust, and Host
# Identities of HIP. Into `keys/`, readable only for you. Wants the openssl command; what is there already stays.
set -eu
umask 077
mkdir -p "$(dirname "$0")/keys"
cd "$(dirname "$0")/keys"

# A Host Identity is a private key; $2 is its algorithm. The public key tells others which HIT it has.
identify() {
    if [ -e "$1.pub" ]; then
        echo "keys/$1.pub is there already" >&2
        return
    fi
    openssl genpkey -algorithm "$2" -out "$1.key" 2>/dev/null
    openssl pkey -in "$1.key" -pubout -out "$1.pub"
}
for host in gw ue; do
    identify "hip-$host" ed25519
    identify "hip-$host-x25519" x25519
done

if [ -e hss.key ]; then
    echo "keys/hss.key is there already" >&2
    exit 0
fi
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

new_key root.key
openssl req -x509 -new -key root.key -out root.crt -days 3650 -subj "/CN=keytoll example root" \
    -addext "basicConstraints = critical, CA:TRUE" -addext "keyUsage = critical, keyCertSign, cRLSign"

# Whoever is asked is a server, whoever asks a client: $2.
issue() {
    new_key "$1.key"
    openssl req -new -key "$1.key" -subj "/CN=$1.example.org" -out "$1.csr"
    printf "%s\n" "subjectAltName = DNS:$1.example.org" "basicConstraints = critical, CA:FALSE" \
        "keyUsage = critical, digitalSignature" "extendedKeyUsage = $2" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA root.crt -CAkey root.key -CAcreateserial -days 3650 -extfile "$1.ext" \
        -out "$1.crt" 2>/dev/null
    rm -f "$1.csr" "$1.ext"
}
issue gw serverAuth
issue aaa clientAuth
issue hss serverAuth
issue radius serverAuth
rm -f root.key root.srl

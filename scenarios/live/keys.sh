#!/bin/sh
# The gateway's certificate and key, and the root that devices trust, for the examples beside this file: into `keys/`,
# readable only for you. Wants the openssl command; what is there already stays.
set -eu
umask 077
mkdir -p "$(dirname "$0")/keys"
cd "$(dirname "$0")/keys"
if [ -e gw.key ]; then
    echo "keys/gw.key is there already" >&2
    exit 0
fi
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

new_key root.key
openssl req -x509 -new -key root.key -out root.crt -days 3650 -subj "/CN=keytoll example root" \
    -addext "basicConstraints = critical, CA:TRUE" -addext "keyUsage = critical, keyCertSign, cRLSign"

new_key gw.key
openssl req -new -key gw.key -subj "/CN=gw.example.org" -out gw.csr
printf "%s\n" "subjectAltName = DNS:gw.example.org" "basicConstraints = critical, CA:FALSE" \
    "keyUsage = critical, digitalSignature" "extendedKeyUsage = serverAuth" >gw.ext
openssl x509 -req -in gw.csr -CA root.crt -CAkey root.key -CAcreateserial -days 3650 -extfile gw.ext -out gw.crt 2>/dev/null
rm -f gw.csr gw.ext root.key root.srl

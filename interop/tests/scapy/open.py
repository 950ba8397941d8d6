"""Opens ESP packets with scapy: reads a case a line from stdin, writes what was inside, or why it could not be opened.

name encryption key integrity key mode local remote encapsulated high-half packet -> name packet | name ! reason
"""
import sys
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation


def opened(line):
    crypt, key, auth, auth_key, mode, source, destination, encapsulated, high, packet = line
    ip = IPv6 if ":" in source else IP
    sa = SecurityAssociation(
        ESP, spi=0x222, crypt_algo=crypt, crypt_key=bytes.fromhex(key), auth_algo=auth, auth_key=bytes.fromhex(auth_key),
        tunnel_header=ip(src=source, dst=destination) if mode == "tunnel" else None,
        nat_t_header=UDP(sport=4500, dport=4500) if encapsulated == "udp" else None,
        esn_en=high != "-", esn=0 if high == "-" else int(high))
    return bytes(sa.decrypt(ip(bytes.fromhex(packet)))).hex()


for line in sys.stdin:
    name, *rest = [field.replace("''", "") for field in line.split()]
    try:
        print(name, opened(rest))
    except Exception as error:
        print(name, "!", type(error).__name__, error)

"""Makes records.json: what record.go has to make of fixed keys, by another implementation
(pip install cryptography; python3 records.py > records.json)."""
import hashlib
import json

from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

PER_KEY = 3


def plain(n):
    return bytes(i * 7 % 251 for i in range(n))


def case(name, aead, key):
    out, first = [], key
    for number, size in enumerate([1, 40, 0x4000, 0x100000, 3, 2, 100, 5]):
        if number and number % PER_KEY == 0:
            key = HKDFExpand(SHA256(), len(key), b"linerate copy 2 next key").derive(key)
        head = size.to_bytes(4, "big")
        record = head + aead(key).encrypt(number.to_bytes(12, "big"), plain(size), head)
        out.append({"plain": size, "sha256": hashlib.sha256(record).hexdigest(), "record": record.hex() if size < 200 else ""})
    return {"suite": name, "key": first.hex(), "per_key": PER_KEY, "records": out}


print(json.dumps([case("AES-128-GCM", AESGCM, bytes(range(16))), case("ChaCha20-Poly1305", ChaCha20Poly1305, bytes(range(32)))], indent=1))

#!/usr/bin/env python3
"""Checks the golden vectors independently of the Rust code: a second reading of the record format.

Needs Python 3.11 and the package `cryptography` (44 or newer, for Argon2id). Run it from anywhere:
    python3 tests/vectors/check.py
"""

import base64
import hashlib
import hmac
import json
import re
import struct
import sys
import unicodedata
import zlib
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_KINDS = {9, 10, 11, 21}
LARGEST = 96 * 1024
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SLUG = "\0abcdefghijklmnopqrstuvwxyz0123456789-"


class Refused(Exception):
    """The vector does not open; the text is the reason."""


def lp(field: bytes) -> bytes:
    return struct.pack(">I", len(field)) + field


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def encode_aad(context: dict, key_id: bytes) -> bytes:
    def text(name: str) -> bytes:
        return lp(context[name].encode())

    def ident(name: str) -> bytes:
        return bytes.fromhex(context[name]) or bytes(16)

    return b"".join([
        b"SRAAD\x01", bytes([context["kind"]]), ident("vault"),
        text("tenant"), text("server"), text("issuer"), text("issuer_url"),
        lp(bytes.fromhex(context["subject"])), text("provider"), ident("grant"),
        text("slot"), ident("user"), key_id, struct.pack(">Q", context["version"]),
        bytes.fromhex(context["metadata"]),
    ])


def open_record(key_id: bytes, key: bytes, context: dict, record: bytes) -> bytes:
    """Format v1, suite 1: header of 104 bytes, ciphertext, tag."""
    holds_key = context["kind"] in KEY_KINDS
    body = len(record) - 104 - 16
    if len(record) > LARGEST or (body != 32 and (body < 256 or body % 256 != 0)):
        raise Refused("malformed")
    if record[:4] != b"SR\x01\x01":
        raise Refused("unknown_format")
    if (body == 32) != holds_key:
        raise Refused("malformed")
    header = record[:104]
    salt, commitment, nonce = header[28:60], header[60:92], header[92:104]
    if header[4:20] != key_id or header[20:28] != struct.pack(">Q", context["version"]):
        raise Refused("wrong_key_or_context")
    aad = encode_aad(context, key_id)

    def derive(label: bytes) -> bytes:
        info = label + b"\x01" + key_id + sha256(aad)
        return HKDF(SHA256(), 32, salt, info).derive(key)

    if not hmac.compare_digest(derive(b"strongroom/1/commit"), commitment):
        raise Refused("wrong_key_or_context")
    try:
        plain = AESGCM(derive(b"strongroom/1/enc")).decrypt(nonce, record[104:], header + aad)
    except InvalidTag:
        raise Refused("corrupt") from None
    return plain if holds_key else unpad(plain)


def unpad(plain: bytes) -> bytes:
    stripped = plain.rstrip(b"\0")
    if not stripped.endswith(b"\x80") or len(plain) - len(stripped) > 255:
        raise Refused("corrupt")
    return stripped[:-1]


def edited(record: bytes, edit: dict) -> bytes:
    out = bytearray(record)
    if "flip_bit" in edit:
        out[edit["flip_bit"] // 8] ^= 1 << edit["flip_bit"] % 8
    if "truncate_to" in edit:
        del out[edit["truncate_to"]:]
    if "append_zeros" in edit:
        out += bytes(edit["append_zeros"])
    if "set" in edit:
        at, new = edit["set"]["at"], bytes.fromhex(edit["set"]["bytes"])
        out[at:at + len(new)] = new
    return bytes(out)


def run_open(case: dict) -> str:
    record = edited(bytes.fromhex(case["record"]), case.get("edit", {}))
    key_id, key = bytes.fromhex(case["key_id"]), bytes.fromhex(case["key"])
    return open_record(key_id, key, case["context"], record).hex()


def run_aad(case: dict) -> str:
    return encode_aad(case["context"], bytes.fromhex(case["key_id"])).hex()


def moment(value: int | None) -> bytes:
    return struct.pack(">q", -1 if value is None else value)


def run_digest(case: dict) -> str:
    if case["of"] == "parts":
        return sha256(b"".join(lp(bytes.fromhex(part)) for part in case["parts"])).hex()
    if case["of"] == "key":
        return sha256(b"".join([
            bytes.fromhex(case["id"]), bytes.fromhex(case["parent"]),
            bytes([case["purpose"], case["state"]]),
            moment(case["created_ms"]), moment(case["not_after_ms"]),
        ])).hex()
    scopes = sorted(scope.encode() for scope in case["scopes"])
    return sha256(b"".join([
        bytes([case["status"], case["confirmed"], case["offline"]]),
        struct.pack(">I", len(scopes)), *map(lp, scopes),
        moment(case["expires_at_ms"]), lp(bytes.fromhex(case["account"])),
        struct.pack(">I", case["policy_version"]), moment(case["created_at_ms"]), lp(case["alias"].encode()),
    ])).hex()


def run_hash(case: dict) -> str:
    key = bytes.fromhex(case["key"])

    def fields(label: str, *names: str) -> bytes:
        return lp(label.encode()) + b"".join(lp(case[name].encode()) for name in names)

    match case["of"]:
        case "lookup":
            data = lp(case["label"].encode()) + bytes.fromhex(case["value"])
        case "pseudonym":
            data = fields("user", "tenant", "issuer", "issuer_url") + lp(bytes.fromhex(case["subject"]))
        case "account":
            data = fields("account", "tenant", "provider", "provider_url", "account")
        case "server_key":
            data = fields("server key", "owner") + server_key(case["class"], case["text"])
        case "csrf":
            data = lp(bytes.fromhex(case["flow"])) + lp(case["action"].encode()) + struct.pack(">Q", case["version"])
            return base64.urlsafe_b64encode(mac(key, data)).decode().rstrip("=")
        case other:
            raise ValueError(other)
    return mac(key, data).hex()


def number62(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 62 + BASE62.index(digit)
    return value


def server_key(prefix: str, text: str) -> bytes:
    parts = re.fullmatch(prefix + "([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})", text)
    if not parts or number62(parts[2]) >= 1 << 256 or number62(parts[3]) != zlib.crc32(text[:-6].encode()):
        raise Refused("bad_key")
    return text.encode()


def unpack_slug(packed: bytes) -> str:
    digits = []
    for (number,) in struct.iter_unpack(">H", packed):
        digits += [number // 38 // 38, number // 38 % 38, number % 38]
    return "".join(SLUG[digit] for digit in digits).rstrip("\0")


def run_request_state(case: dict) -> dict:
    try:
        return request_state(case)
    except (Refused, ValueError):
        raise Refused("bad_request_state") from None


def request_state(case: dict) -> dict:
    text = case["text"]
    if not re.fullmatch(r"srs1\.[A-Za-z0-9_-]{502}", text) or text.endswith("\n"):
        raise Refused("form")
    record = base64.urlsafe_b64decode(text[5:] + "==")
    if base64.urlsafe_b64encode(record).decode().rstrip("=") != text[5:]:
        raise Refused("not canonical")
    context = {
        "kind": 17, "vault": case["vault"], "tenant": case["tenant"], "server": case["server"],
        "issuer": "", "issuer_url": "", "subject": "", "provider": "", "grant": "", "slot": "", "user": "",
        "version": 1, "metadata": "00" * 32,
    }
    body = open_record(bytes.fromhex(case["key_id"]), bytes.fromhex(case["key"]), context, record)
    names = ["elicitation", "tenant", "server", "issuer", "subject_hash", "provider", "client_digest",
             "bound", "request_digest", "issued_ms", "expires_ms", "random"]
    fields = dict(zip(names, struct.unpack(">16s22s22s22s32s22s32s?32sqq16s", body), strict=True))
    fields.pop("random")
    if not fields.pop("bound"):
        fields["request_digest"] = None
    for name, value in fields.items():
        if name in ("tenant", "server", "issuer", "provider"):
            fields[name] = unpack_slug(value)
        elif isinstance(value, bytes):
            fields[name] = value.hex()
    if case["now_ms"] >= fields["expires_ms"]:
        raise Refused("expired")
    return fields


def run_root_slot(case: dict) -> str:
    parameters = bytes.fromhex(case["parameters"])
    if len(parameters) != 28:
        raise Refused("damaged")
    memory, passes, lanes = struct.unpack(">III", parameters[:12])
    if not (19 * 1024 <= memory <= 4 * 1024 * 1024 and 2 <= passes <= 64 and 1 <= lanes <= 64
            and memory * passes <= 8 * 1024 * 1024):
        raise Refused("out_of_range")
    stretch = Argon2id(salt=parameters[12:], length=32, iterations=passes, lanes=lanes, memory_cost=memory)
    key = stretch.derive(unicodedata.normalize("NFC", case["passphrase"]).encode())
    parts = [bytes([case["number"]]), bytes([case["seal"]]), parameters, bytes.fromhex(case["root"])]
    record = bytes.fromhex(case["record"])
    context = {
        "kind": 21, "vault": case["vault"], "tenant": "", "server": "", "issuer": "", "issuer_url": "",
        "subject": "", "provider": "", "grant": "", "slot": "", "user": "",
        "version": struct.unpack(">Q", record[20:28])[0],
        "metadata": sha256(b"".join(map(lp, parts))).hex(),
    }
    return open_record(record[4:20], key, context, record).hex()


RUN = {
    "open": run_open, "aad": run_aad, "digest": run_digest, "hash": run_hash,
    "request_state": run_request_state, "root_slot": run_root_slot,
}


def merged(base: dict, case: dict) -> dict:
    whole = base | case
    if "context" in base:
        whole["context"] = base["context"] | case.get("context", {})
    return whole


def as_declared(op: str, case: dict) -> bool:
    (word, value), = case["expect"].items()
    try:
        found = RUN[op](case)
    except Refused as reason:
        return word == "refused" and value == str(reason)
    return word in ("opens", "is") and found == value or word == "differs" and found != value


def main() -> int:
    passed = failed = 0
    for path in sorted(Path(__file__).parent.glob("*.json")):
        file = json.loads(path.read_text())
        for case in file["cases"]:
            if as_declared(file["op"], merged(file["base"], case)):
                passed += 1
            else:
                failed += 1
                print(f"{path.name}: {case['name']}: not as declared")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())

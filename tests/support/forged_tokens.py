"""Session tokens that kurz never issued, written by hand: no library would make most of them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kurz.people.keyring import Keys
from kurz.people.tokens import Tokens
from support.clock import FrozenClock

DAY = 86_400
OTHER_KEY = b"another key, which is as long as ours"
_CURVE_KEY = ec.derive_private_key(1234567, ec.SECP256R1())
_PUBLIC_PEM = _CURVE_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Forger:
    """Knows our key: what is wrong with a token is only what its name says."""

    def __init__(self, key: bytes, clock: FrozenClock, account_id: int = 7) -> None:
        self.key = key
        self.now = int(clock.now().timestamp())
        self.header: dict[str, Any] = {"typ": "kurz+jwt", "alg": "HS256"}
        self.claims: dict[str, Any] = {
            "iss": "kurz",
            "aud": "kurz-api",
            "sub": str(account_id),
            "iat": self.now,
            "exp": self.now + DAY,
            "jti": "AAAAAAAAAAAAAAAAAAAAAA",
            "epoch": 0,
        }
        self.genuine, _ = Tokens(Keys(key), clock).issue(account_id, 0)

    def raw(
        self, header: bytes, payload: bytes, key: bytes | None = None, digest: str = "sha256"
    ) -> str:
        text = f"{b64(header)}.{b64(payload)}"
        return f"{text}.{b64(hmac.digest(key or self.key, text.encode(), digest))}"

    def good(self) -> str:
        return self.raw(dump(self.header), dump(self.claims))

    def with_header(self, digest: str = "sha256", **changes: Any) -> str:
        return self.raw(dump(self.header | changes), dump(self.claims), digest=digest)

    def with_claims(self, **changes: Any) -> str:
        return self.raw(dump(self.header), dump(self.claims | changes))

    def without(self, *names: str) -> str:
        header = {name: value for name, value in self.header.items() if name not in names}
        claims = {name: value for name, value in self.claims.items() if name not in names}
        return self.raw(dump(header), dump(claims))

    def with_text(self, old: str, new: str) -> str:
        """A right signature over a payload in another spelling."""
        payload = dump(self.claims).decode()
        assert old in payload
        return self.raw(dump(self.header), payload.replace(old, new, 1).encode())

    def with_header_text(self, text: str) -> str:
        return self.raw(text.encode(), dump(self.claims))

    def unsigned(self, algorithm: str, signature: str = "") -> str:
        head = dump(self.header | {"alg": algorithm})
        return f"{b64(head)}.{b64(dump(self.claims))}.{signature}"

    def curve_signed(self) -> str:
        text = f"{b64(dump(self.header | {'alg': 'ES256'}))}.{b64(dump(self.claims))}"
        signature = _CURVE_KEY.sign(text.encode(), ec.ECDSA(hashes.SHA256()))
        return f"{text}.{b64(signature)}"

    def shifted(self, seconds: int) -> str:
        """As an instance would have issued it whose clock differs that much."""
        return self.with_claims(iat=self.now + seconds, exp=self.now + seconds + DAY)

    def resigned(self, text: str) -> str:
        return f"{text}.{b64(hmac.digest(self.key, text.encode(), 'sha256'))}"

    @property
    def parts(self) -> tuple[str, str, str]:
        header, payload, signature = self.genuine.split(".")
        return header, payload, signature


def _next_letter(text: str, position: int) -> str:
    """The text with another letter there, of the base64 alphabet."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other = letters[(letters.index(text[position]) + 1) % 64]
    end = text[position + 1 :] if position != -1 else ""
    return text[:position] + other + end


CLAIMS = ("iss", "aud", "sub", "iat", "exp", "jti", "epoch")
_JWK = {"kty": "oct", "k": b64(OTHER_KEY)}
_DEEP = "[" * 300 + "]" * 300


Forge = Callable[[Forger], str]


def _each(
    label: str, values: Iterable[Any], forge: Callable[[Forger, Any], str]
) -> dict[str, Forge]:
    """A forgery for each value."""

    def one(value: Any) -> Forge:
        return lambda forger: forge(forger, value)

    return {label.format(repr(value)): one(value) for value in values}


def _each_claim(value: Any) -> dict[str, Forge]:
    label = "{} " + repr(value).replace("{}", "{{}}")
    return _each(label, CLAIMS, lambda f, name: f.with_claims(**{name: value}))


FORGERIES: Mapping[str, Forge] = {
    # No signature, in every spelling of "none".
    **_each(
        "alg {} without signature",
        ("none", "None", "NONE", "nOnE", "", "null", "none ", "HS256"),
        lambda f, name: f.unsigned(name),
    ),
    "alg none with our signature": lambda f: f.with_header(alg="none"),
    "alg none with the signature of a genuine token": lambda f: f.unsigned("none", f.parts[2]),
    "alg null": lambda f: f.with_header(alg=None),
    "alg a list": lambda f: f.with_header(alg=["HS256"]),
    "alg a number": lambda f: f.with_header(alg=256),
    "alg true": lambda f: f.with_header(alg=True),
    "alg an object": lambda f: f.with_header(alg={"name": "HS256"}),
    "no alg": lambda f: f.without("alg"),
    # Other algorithms.
    **_each(
        "alg {} signed as HS256",
        ("hs256", "Hs256", "HS256 ", "HS-256", "SHA256", "RS256", "PS256", "EdDSA"),
        lambda f, name: f.with_header(alg=name),
    ),
    "HS384": lambda f: f.with_header("sha384", alg="HS384"),
    "HS512": lambda f: f.with_header("sha512", alg="HS512"),
    "HS256 by name, signed with SHA-512": lambda f: f.with_header("sha512"),
    "ES256 with a key of their own": lambda f: f.curve_signed(),
    "HS256 with a public key as the secret": lambda f: f.raw(
        dump(f.header), dump(f.claims), _PUBLIC_PEM
    ),
    # Other keys.
    "another key": lambda f: f.raw(dump(f.header), dump(f.claims), OTHER_KEY),
    "a key of one NUL": lambda f: f.raw(dump(f.header), dump(f.claims), b"\0"),
    "our key in hexadecimal": lambda f: f.raw(dump(f.header), dump(f.claims), f.key.hex().encode()),
    "the hash of our key": lambda f: f.raw(
        dump(f.header), dump(f.claims), hashlib.sha256(f.key).digest()
    ),
    # Headers that tell a reader where to find the key, or to read otherwise.
    "kid": lambda f: f.with_header(kid="1"),
    "kid a path": lambda f: f.with_header(kid="../../dev/null"),
    "kid a query": lambda f: f.with_header(kid="' UNION SELECT 'x"),
    "jku": lambda f: f.with_header(jku="https://evil.example/keys"),
    "jwk": lambda f: f.raw(dump(f.header | {"jwk": _JWK}), dump(f.claims), OTHER_KEY),
    "jwk under our signature": lambda f: f.with_header(jwk=_JWK),
    "x5u": lambda f: f.with_header(x5u="https://evil.example/chain"),
    "x5c": lambda f: f.with_header(x5c=["AAAA"]),
    "x5t": lambda f: f.with_header(x5t="AAAA"),
    "crit empty": lambda f: f.with_header(crit=[]),
    "crit unknown": lambda f: f.with_header(crit=["exp2"], exp2=1),
    "crit alg": lambda f: f.with_header(crit=["alg"]),
    "b64 false": lambda f: f.with_header(crit=["b64"], b64=False),
    "b64 true": lambda f: f.with_header(b64=True),
    "zip": lambda f: f.with_header(zip="DEF"),
    "cty JWT": lambda f: f.with_header(cty="JWT"),
    "typ JWT": lambda f: f.with_header(typ="JWT"),
    "typ at+jwt": lambda f: f.with_header(typ="at+jwt"),
    "typ in capitals": lambda f: f.with_header(typ="KURZ+JWT"),
    "typ null": lambda f: f.with_header(typ=None),
    "typ a list": lambda f: f.with_header(typ=["kurz+jwt"]),
    "no typ": lambda f: f.without("typ"),
    "claims in the header too": lambda f: f.with_header(sub="7", exp=f.now + DAY),
    # Claims that are missing, too many, or of another type.
    **_each("no {}", CLAIMS, lambda f, name: f.without(name)),
    **_each_claim(value=None),
    **_each_claim(value=True),
    **_each_claim(value=""),
    **_each_claim(value=[]),
    **_each_claim(value={}),
    **_each_claim(value=1.5),
    "no claims": lambda f: f.raw(dump(f.header), b"{}"),
    "claims in a list": lambda f: f.raw(dump(f.header), dump([f.claims])),
    "claims null": lambda f: f.raw(dump(f.header), b"null"),
    "claims as text": lambda f: f.raw(dump(f.header), dump(json.dumps(f.claims))),
    "claims that are no JSON": lambda f: f.raw(dump(f.header), b"sub=7"),
    "claims that are no UTF-8": lambda f: f.raw(dump(f.header), b'{"sub":"\xff"}'),
    "claims in UTF-16": lambda f: f.raw(dump(f.header), json.dumps(f.claims).encode("utf-16")),
    "one claim more": lambda f: f.with_claims(is_admin=True),
    "a scope": lambda f: f.with_claims(scope="admin"),
    "a claim in capitals beside ours": lambda f: f.with_claims(SUB="8"),
    # Whom it is from, and for.
    "another iss": lambda f: f.with_claims(iss="kurtz"),
    "iss in capitals": lambda f: f.with_claims(iss="KURZ"),
    "iss a list with ours": lambda f: f.with_claims(iss=["kurz"]),
    "another aud": lambda f: f.with_claims(aud="other-api"),
    "aud a list with ours": lambda f: f.with_claims(aud=["kurz-api"]),
    "aud a list with ours and another": lambda f: f.with_claims(aud=["x", "kurz-api"]),
    "aud a list without ours": lambda f: f.with_claims(aud=["x"]),
    "aud ours and a space": lambda f: f.with_claims(aud="kurz-api "),
    # Accounts that cannot be.
    **_each(
        "sub {}",
        (
            7,
            0,
            "0",
            "-7",
            "+7",
            " 7",
            "7 ",
            "7\n",
            "07",
            "0x7",
            "7.0",
            "7e0",
            "1_0",
            "٧",
            "７",
            "ada",
            "None",
            "true",
            "9" * 19,
            "9" * 400,
            ["7"],
            {"id": "7"},
            "7\x00",
        ),
        lambda f, value: f.with_claims(sub=value),
    ),
    # Times.
    "expired yesterday": lambda f: f.shifted(-2 * DAY),
    "expired 31 seconds ago": lambda f: f.shifted(-DAY - 31),
    "issued in 31 seconds": lambda f: f.shifted(31),
    "issued tomorrow": lambda f: f.shifted(DAY),
    "for ever": lambda f: f.with_claims(exp=2**62),
    "for a day and a second": lambda f: f.with_claims(exp=f.now + DAY + 1),
    "for an hour": lambda f: f.with_claims(exp=f.now + 3600),
    "exp before iat": lambda f: f.with_claims(iat=f.now, exp=f.now - 1),
    "exp as text": lambda f: f.with_claims(exp=str(f.now + DAY)),
    "exp a float": lambda f: f.with_claims(exp=float(f.now + DAY)),
    "iat a float": lambda f: f.with_claims(iat=float(f.now)),
    "both times floats": lambda f: f.with_claims(iat=float(f.now), exp=float(f.now + DAY)),
    "exp NaN": lambda f: f.with_claims(exp=float("nan")),
    "exp Infinity": lambda f: f.with_claims(exp=float("inf")),
    "both times Infinity": lambda f: f.with_claims(iat=float("inf"), exp=float("inf")),
    "exp 1e999": lambda f: f.with_text(str(f.now + DAY), "1e999"),
    "exp of 400 digits": lambda f: f.with_text(str(f.now + DAY), "9" * 400),
    "exp negative": lambda f: f.with_claims(exp=-1),
    "nbf now": lambda f: f.with_claims(nbf=f.now),
    "nbf tomorrow": lambda f: f.with_claims(nbf=f.now + DAY),
    "nbf text": lambda f: f.with_claims(nbf="now"),
    # Epochs.
    "epoch as text": lambda f: f.with_claims(epoch="0"),
    "epoch a list": lambda f: f.with_claims(epoch=[0]),
    "epoch false": lambda f: f.with_claims(epoch=False),
    # The same JSON in another spelling: two readers might read two things.
    "sub twice, the last one ours": lambda f: f.with_text('"sub":"7"', '"sub":"8","sub":"7"'),
    "sub twice, the first one ours": lambda f: f.with_text('"sub":"7"', '"sub":"7","sub":"8"'),
    "exp twice": lambda f: f.with_text('"exp":', '"exp":1,"exp":'),
    "alg twice": lambda f: f.with_header_text('{"typ":"kurz+jwt","alg":"none","alg":"HS256"}'),
    "alg twice, then none": lambda f: f.with_header_text(
        '{"typ":"kurz+jwt","alg":"HS256","alg":"none"}'
    ),
    "typ twice": lambda f: f.with_header_text('{"typ":"JWT","typ":"kurz+jwt","alg":"HS256"}'),
    "header in another order": lambda f: f.with_header_text('{"alg":"HS256","typ":"kurz+jwt"}'),
    "header with spaces": lambda f: f.with_header_text('{"typ": "kurz+jwt", "alg": "HS256"}'),
    "header with an escape": lambda f: f.with_header_text('{"typ":"kurz+jwt","\\u0061lg":"HS256"}'),
    "header a list": lambda f: f.with_header_text('["alg","HS256"]'),
    "header null": lambda f: f.with_header_text("null"),
    "header empty": lambda f: f.with_header_text(""),
    "header a deep nest": lambda f: f.with_header_text(_DEEP),
    "claims with spaces": lambda f: f.with_text(",", ", "),
    "claims after a line break": lambda f: f.with_text("{", "\n{"),
    "claims with an escape": lambda f: f.with_text('"sub"', '"s\\u0075b"'),
    "claims and something behind": lambda f: f.raw(dump(f.header), dump(f.claims) + b"{}"),
    "claims a deep nest": lambda f: f.raw(dump(f.header), _DEEP.encode()),
    # Other shapes.
    "nothing": lambda _: "",
    "a space": lambda _: " ",
    "a dot": lambda _: ".",
    "two dots": lambda _: "..",
    "four dots": lambda _: "....",
    "a word": lambda _: "token",
    "null": lambda _: "null",
    "undefined": lambda _: "undefined",
    "JSON": lambda f: json.dumps({"payload": f.parts[1], "signature": f.parts[2]}),
    "JWE of five parts": lambda _: (
        b64(dump({"alg": "dir", "enc": "A256GCM"})) + ".." + ".".join([b64(b"x" * 12)] * 3)
    ),
    "JWE with our header": lambda f: ".".join((f.parts[0], "", b64(b"x" * 12), *f.parts[1:])),
    "a token in a token": lambda f: f.raw(dump(f.header | {"cty": "JWT"}), f.genuine.encode()),
    "a token as the payload": lambda f: f.raw(dump(f.header), f.genuine.encode()),
    "twice the token": lambda f: f.genuine + "." + f.genuine,
    "two tokens, a comma between": lambda f: f"{f.genuine},{f.genuine}",
    "payload of another token": lambda f: ".".join(
        (f.parts[0], f.good().split(".")[1], f.parts[2])
    ),
    "without signature": lambda f: ".".join(f.parts[:2]),
    "without signature, with its dot": lambda f: ".".join(f.parts[:2]) + ".",
    "without header": lambda f: "." + ".".join(f.parts[1:]),
    "without payload": lambda f: f"{f.parts[0]}..{f.parts[2]}",
    "detached payload": lambda f: f.resigned(f.parts[0] + "."),
    "parts in another order": lambda f: ".".join((f.parts[1], f.parts[0], f.parts[2])),
    "a dot behind": lambda f: f.genuine + ".",
    "dots behind": lambda f: f.genuine + "..",
    "a dot before": lambda f: "." + f.genuine,
    "padding behind": lambda f: f.genuine + "=",
    "more padding behind": lambda f: f.genuine + "====",
    "padding in the header": lambda f: f.resigned(f"{f.parts[0]}==.{f.parts[1]}"),
    "a space inside": lambda f: f.genuine.replace(".", " .", 1),
    "a line break inside": lambda f: f.genuine.replace(".", "\n.", 1),
    "a line break in the signature": lambda f: f.genuine[:-4] + "\n" + f.genuine[-4:],
    "a NUL inside": lambda f: f.genuine[:-4] + "\0" + f.genuine[-4:],
    "signature cut by one": lambda f: f.genuine[:-1],
    "signature cut by half": lambda f: f.genuine[:-21],
    "signature of one byte": lambda f: ".".join((*f.parts[:2], "AA")),
    "signature of NULs": lambda f: ".".join((*f.parts[:2], b64(bytes(32)))),
    "signature longer by a byte": lambda f: f.genuine + "AA",
    "signature with a foreign letter": lambda f: f.genuine[:-4] + "*" + f.genuine[-4:],
    "signature with its first bit turned": lambda f: ".".join(
        (*f.parts[:2], _next_letter(f.parts[2], 0))
    ),
    "signature with a bit turned inside": lambda f: ".".join(
        (*f.parts[:2], _next_letter(f.parts[2], 20))
    ),
    "signature with bits turned that no byte holds": lambda f: _next_letter(f.genuine, -1),
    "payload with a bit turned": lambda f: ".".join(
        (f.parts[0], _next_letter(f.parts[1], 30), f.parts[2])
    ),
    "header with a bit turned": lambda f: ".".join((_next_letter(f.parts[0], 8), *f.parts[1:])),
    "huge": lambda f: f.with_claims(jti="A" * 100_000),
    "huge and nothing": lambda _: "A" * 200_000,
    "huge, of dots": lambda _: "." * 100_000,
    "one letter too long": lambda f: f.genuine + "A" * 1024,
    "not ASCII": lambda f: f.genuine[:-1] + "é",
    "letters that look like ours": lambda f: f.genuine.replace("e", "\u0435", 1),
    "an emoji": lambda _: "🔑.🔑.🔑",
    "half a character": lambda f: f.genuine + "\ud800",
}

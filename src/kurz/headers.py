"""The headers that every answer carries."""

# A page that needs more (its style, a script of ours) has its own policy.
POLICY = b"content-security-policy"
STRICTEST_POLICY = (
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The default of the API: a proxy that caches answers without this header would serve one person's
# answer to another.
CACHING = b"cache-control"
UNCACHED = b"no-store"
HSTS = b"strict-transport-security"
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

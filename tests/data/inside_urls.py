"""URLs that lead inside, or to where nobody is to be called: kurz takes them as destinations, as
intranets need links too, and must never call them. `{port}` is one that may be called."""

from ipaddress import ip_network

NETWORKS_V4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
WELL_KNOWN = [
    "127.0.0.1",  # a canary listens here
    "169.254.169.254",  # and here, where it can
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "172.17.0.1",
    "192.168.0.1",
    "127.0.0.53",
]
V4 = (
    sorted({str(ip_network(text)[place]) for text in NETWORKS_V4 for place in (0, -1)}) + WELL_KNOWN
)
V6 = [
    "::",
    "::1",  # a canary listens here
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "::ffff:192.168.0.1",
    "::ffff:0.0.0.0",
    "64:ff9b::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::10.0.0.1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:1::1",
    "2620:4f:8000::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "fec0::1",
    "ff02::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
]
ADDRESSES = [*V4, *V6]
# Answers of which one address is fine: `{outside}` is an address that may be called.
MIXED = [
    ["{outside}", "127.0.0.1"],
    ["127.0.0.1", "{outside}"],
    ["{outside}", "::1"],
    ["::1", "{outside}"],
    ["{outside}", "169.254.169.254"],
    ["{outside}", "::ffff:127.0.0.1"],
    ["{outside}", "64:ff9b::7f00:1"],
    ["{outside}", "10.0.0.1", "fd00::1"],
    ["{outside}", "{outside}", "192.168.1.1"],
    ["::ffff:{outside}", "::1"],
]
ALIASED = ["127.0.0.1", "::1", "169.254.169.254", "10.0.0.1", "192.168.0.1", "fd00::1"]
# Where something that is not the web may listen, on an address that may be called.
PORTS = [
    1,
    21,
    22,
    23,
    25,
    53,
    110,
    143,
    389,
    445,
    2375,
    3306,
    5432,
    6379,
    8080,
    9200,
    11211,
    27017,
]
NAMES = [
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "metadata.google.internal",
    "metadata",
    "nothing.test",
]


def names(outside: str) -> dict[str, list[str]]:
    """The addresses of each name that a name server has to know."""
    known = {f"n{number}.test": [it] for number, it in enumerate(ADDRESSES)}
    for number, answer in enumerate(MIXED):
        known[f"m{number}.test"] = list(dict.fromkeys(it.format(outside=outside) for it in answer))
    known |= {f"a{number}.test": [it] for number, it in enumerate(ALIASED)}
    known |= {"localhost": ["127.0.0.1"], "a.localhost": ["::1"]}
    known["metadata.google.internal"] = ["169.254.169.254"]
    return known


def aliases() -> dict[str, str]:
    """Of each, and of two behind each other."""
    first = {f"c{number}.test": f"a{number}.test" for number in range(len(ALIASED))}
    second = {f"cc{number}.test": f"c{number}.test" for number in range(len(ALIASED))}
    return first | second


def urls(outside: str, port: int) -> list[str]:
    found = [f"http://{it}:{port}/" for it in V4]
    found += [f"http://[{it}]:{port}/" for it in V6]
    found += [f"https://{it}:{port}/latest/meta-data/?a=b#c" for it in WELL_KNOWN]
    hosts = [*names(outside), *aliases(), *NAMES]
    found += [f"http://{host}:{port}/{number}" for number, host in enumerate(hosts)]
    found += [f"http://{outside}:{number}/" for number in PORTS if number != port]
    found += [f"https://n{number}.test:{port}/s" for number in range(0, len(ADDRESSES), 9)]
    return found

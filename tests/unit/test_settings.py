"""Where settings come from, and how a bad one is refused."""

from pathlib import Path
from secrets import token_hex

import pytest

from kurz.errors import SettingRefused
from kurz.rates import DEFAULT_RATES, Rate
from kurz.settings import values
from kurz.settings.load import load, warnings_about
from kurz.settings.model import Settings


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """No `kurz.toml` of the machine may be read."""
    monkeypatch.chdir(tmp_path)


def test_defaults_are_the_products_numbers():
    settings = load({}, {}).settings
    assert settings == Settings()
    assert (settings.host, settings.port, settings.data_dir) == (
        "127.0.0.1",
        8080,
        Path("kurz-data"),
    )
    assert (settings.code_strategy, settings.code_length) == ("random", 7)
    assert (settings.temporary_link_hours, settings.redirect_status) == (8, 302)
    assert settings.trusted_proxies == ("127.0.0.1", "::1")
    assert settings.access == "public"


def test_a_flag_wins_over_a_variable_over_a_file_over_a_default(tmp_path):
    (tmp_path / "kurz.toml").write_text('port = 1\nhost = "10.0.0.1"\ncode_length = 9\n')
    environ = {"KURZ_PORT": "2", "KURZ_HOST": "10.0.0.2"}
    loaded = load({"port": 3, "host": None}, environ)
    assert (loaded.settings.port, loaded.settings.host, loaded.settings.code_length) == (
        3,
        "10.0.0.2",
        9,
    )
    assert [loaded.sources[name] for name in ("port", "host", "code_length", "access")] == [
        "--port",
        "KURZ_HOST",
        "code_length in kurz.toml",
        "default",
    ]


def test_a_value_can_stand_in_a_file_of_its_own(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("postgresql://me@db/kurz\n")
    loaded = load({}, {"KURZ_DATABASE_URL_FILE": str(secret)})
    assert loaded.settings.database_url == "postgresql://me@db/kurz"
    assert loaded.sources["database_url"] == "KURZ_DATABASE_URL_FILE"


def test_a_list_in_the_file_is_a_list(tmp_path):
    (tmp_path / "kurz.toml").write_text('trusted_proxies = ["10.0.0.0/8", "::1"]')
    assert load({}, {}).settings.trusted_proxies == ("10.0.0.0/8", "::1")


def test_another_file_can_be_named(tmp_path):
    (tmp_path / "other.toml").write_text("port = 9000")
    environ = {"KURZ_CONFIG": str(tmp_path / "other.toml")}
    assert load({}, environ).settings.port == 9000


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://go.example.com", "https://go.example.com"),
        ("https://GO.example.com/", "https://go.example.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_a_base_url_is_normalised(given, kept):
    assert load({}, {"KURZ_BASE_URL": given}).settings.base_url == kept


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KURZ_PORT", "abc"),
        ("KURZ_PORT", "70000"),
        ("KURZ_PORT", ""),
        ("KURZ_PORT", "8_0"),
        ("KURZ_PORT", "+80"),
        ("KURZ_HOST", ""),
        ("KURZ_HOST", "unix:kurz.sock"),
        ("KURZ_HOST", "unix:/" + "x" * 100),
        ("KURZ_BASE_URL", "go.example.com"),
        ("KURZ_BASE_URL", "ftp://go.example.com"),
        ("KURZ_BASE_URL", "https://go.example.com/s"),
        ("KURZ_BASE_URL", "https://me@go.example.com"),
        ("KURZ_BASE_URL", "https://go.example.com:99999"),
        ("KURZ_DASHBOARD_URL", "kurz.example.com"),
        ("KURZ_DASHBOARD_URL", "https://kurz.example.com/app"),
        ("KURZ_ACCESS", "open"),
        ("KURZ_CODE_STRATEGY", "deterministic"),
        ("KURZ_CODE_LENGTH", "3"),
        ("KURZ_REDIRECT_STATUS", "303"),
        ("KURZ_TRUSTED_PROXIES", "everyone"),
        ("KURZ_CHECK_NETWORKS", "intranet"),
        ("KURZ_CHECK_NETWORKS", "10.20.0.0/16, 10.1.2.3/8"),
        ("KURZ_CHECK_NETWORKS", "0.0.0.0/0"),
        ("KURZ_CHECK_NETWORKS", "10.0.0.0/7"),
        ("KURZ_CHECK_NETWORKS", "fd12:3456::1/32"),
        ("KURZ_CHECK_NETWORKS", "::/0"),
        ("KURZ_CHECK_NETWORKS", "fe00::/15"),
        ("KURZ_CHECK_NETWORKS", "::ffff:0:0/96"),
        ("KURZ_CHECK_NETWORKS", "::ffff:10.0.0.0/103"),
        ("KURZ_CHECK_NETWORKS", "::ffff:10.1.2.3/104"),
        ("KURZ_TEMPORARY_LINK_HOURS", "0"),
        ("KURZ_REAPER_INTERVAL", "15"),
        ("KURZ_REAPER_INTERVAL", "-15m"),
        ("KURZ_REAPER_INTERVAL", "1.5h"),
        ("KURZ_REAPER_INTERVAL", "15 m"),
        ("KURZ_REAPER_INTERVAL", "never"),
        ("KURZ_REAPER_INTERVAL", "999999999d"),
        ("KURZ_REAPER_BATCH", "0"),
        ("KURZ_REAPER_BATCH", "10001"),
        ("KURZ_REAPER_ENABLED", "true"),
        ("KURZ_REAPER_WINDOW", "02:00"),
        ("KURZ_REAPER_WINDOW", "02:00-02:00"),
        ("KURZ_REAPER_WINDOW", "02:00-25:00"),
        ("KURZ_REAPER_WINDOW", "2-5"),
        ("KURZ_RETENTION", "forever"),
        ("KURZ_RETENTION_DELETED", "a week"),
        ("KURZ_CODE_QUARANTINE", "never"),
    ],
)
def test_a_bad_value_is_refused_by_name(variable, value):
    with pytest.raises(SettingRefused) as refused:
        load({}, {variable: value})
    assert refused.value.detail.startswith(f"{variable} must ")


def test_a_window_may_end_at_midnight():
    for text in ("22:00-24:00", "22:00-00:00", "22:00 - 24:00"):
        window = load({}, {"KURZ_REAPER_WINDOW": text}).settings.reaper_window
        assert str(window) == "22:00-00:00"
    with pytest.raises(SettingRefused, match="must begin and end at different times"):
        load({}, {"KURZ_REAPER_WINDOW": "00:00-24:00"})


@pytest.mark.parametrize("variable", ["KURZ_DATABASE_URL", "KURZ_DATABASE_REPLICA_URLS"])
def test_a_secret_is_never_shown(variable):
    with pytest.raises(SettingRefused) as refused:
        load({}, {variable: "mysql://root:hunter2@db"})
    assert variable in refused.value.detail
    assert "hunter2" not in refused.value.detail


def test_replicas_stand_between_commas_each_perhaps_with_several_hosts():
    urls = "postgresql://a:1,b:2/kurz, postgres://c/kurz,postgresql://d/kurz"
    assert load({}, {"KURZ_DATABASE_REPLICA_URLS": urls}).settings.database_replica_urls == (
        "postgresql://a:1,b:2/kurz",
        "postgres://c/kurz",
        "postgresql://d/kurz",
    )


def test_a_value_and_its_file_exclude_each_other(tmp_path):
    environ = {"KURZ_PORT": "1", "KURZ_PORT_FILE": str(tmp_path / "port")}
    with pytest.raises(SettingRefused, match="Both KURZ_PORT and KURZ_PORT_FILE"):
        load({}, environ)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SettingRefused, match="KURZ_PORT_FILE"):
        load({}, {"KURZ_PORT_FILE": str(tmp_path / "missing")})
    with pytest.raises(SettingRefused, match="cannot be read"):
        load({}, {"KURZ_CONFIG": str(tmp_path / "missing.toml")})


@pytest.mark.parametrize("text", ["port = ", "\x00", 'port = "1"\nport = 2'])
def test_a_broken_file_is_refused(tmp_path, text):
    (tmp_path / "kurz.toml").write_text(text)
    with pytest.raises(SettingRefused, match=r"kurz\.toml cannot be read"):
        load({}, {})


def test_an_unknown_name_in_the_file_is_refused_with_a_suggestion(tmp_path):
    (tmp_path / "kurz.toml").write_text("baseurl = 1")
    with pytest.raises(SettingRefused, match="Did you mean base_url"):
        load({}, {})


def test_unknown_variables_are_reported_not_refused():
    assert load({}, {"KURZ_PROT": "1", "OTHER": "2"}).unknown_variables == ("KURZ_PROT",)


def test_nobody_may_be_trusted():
    assert load({}, {"KURZ_TRUSTED_PROXIES": "none"}).settings.trusted_proxies == ()


def test_whoever_gives_an_address_for_a_network_is_shown_what_it_would_open():
    with pytest.raises(SettingRefused, match=r"write 0\.0\.0\.0/2 to allow the whole"):
        load({}, {"KURZ_CHECK_NETWORKS": "10.1.2.3/2"})
    proxies = load({}, {"KURZ_TRUSTED_PROXIES": "10.1.2.3/24"}).settings.trusted_proxies
    assert proxies == ("10.1.2.3/24",)


def test_a_password_in_an_address_is_not_shown():
    with pytest.raises(SettingRefused) as refused:
        load({}, {"KURZ_BASE_URL": "https://me:hunter2@go.example.com"})
    assert "hunter2" not in refused.value.detail


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"KURZ_PROT": "1"}, "KURZ_PROT"),
        ({"KURZ_BASE_URL": "https://go.example.com"}, "KURZ_ACCESS"),
        ({"KURZ_COUNTER_SCRAMBLE": "offset"}, "enumerate"),
        ({"KURZ_RETENTION": "archival"}, "Set KURZ_ARCHIVE"),
        (
            {"KURZ_BASE_URL": "https://go.example.com", "KURZ_ROOT_WORKSPACE": "team"},
            "can create an account",
        ),
        ({"KURZ_CHECK_NETWORKS": "10.0.0.0/8, 127.0.0.0/8"}, "has 127.0.0.0/8:"),
        ({"KURZ_CHECK_NETWORKS": "169.254.169.254"}, "metadata"),
        ({"KURZ_CHECK_NETWORKS": "0.0.0.0/32"}, "this machine"),
        ({"KURZ_CHECK_NETWORKS": "::1"}, "has ::1:"),
        ({"KURZ_CHECK_NETWORKS": "fe80::/16,::/16"}, "has fe80::/16, ::/16:"),
        ({"KURZ_CHECK_NETWORKS": "::ffff:127.0.0.0/104"}, "this machine"),
    ],
)
def test_the_start_warns_of_what_is_easily_overlooked(environ, words):
    (warning,) = warnings_about(load({}, environ))
    assert words in warning


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"KURZ_BASE_URL": "http://127.0.0.1:8080"},
        {"KURZ_BASE_URL": "https://go.example.com", "KURZ_ACCESS": "public"},
        {"KURZ_RETENTION": "archival", "KURZ_ARCHIVE": "/srv/archive"},
        {"KURZ_CHECK_NETWORKS": "10.0.0.0/8,172.16.0.0/12,192.168.1.7,fc00::/7,fd12:3456::/32"},
    ],
)
def test_the_start_does_not_warn_of_what_was_chosen(environ):
    assert warnings_about(load({}, environ)) == []


GOOD_SECRET = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
WEAK_SECRETS = {
    "short": GOOD_SECRET[:31],
    "one letter": "x" * 64,
    "nine letters": "abcXYZ123" * 8,
    "a repeated word": "horse-battery-1-" * 4,
    "a repeated half": GOOD_SECRET[:20] * 2,
    "digits in order": "0123456789" * 5,
    "digits backwards": "9876543210" * 5,
    "letters in order": "abcdefghijklmnopqrstuvwxyz0123456",
    "change me": "please-change-me-in-production-2026",
    "CHANGEME": "CHANGEME" * 4 + GOOD_SECRET,
    "secret": "my-super-secret-key-for-jwt-signing-1",
    "your-256-bit-secret": "your-256-bit-secret-goes-right-here",
    "of a keyboard": "qwertyuiopasdfghjklzxcvbnm1234567890",
    "of a framework": "django-insecure-&x7k2p9q4w8z1m5n3b6v0",
    "example": "kurz-example-4f8a2c6e0b1d3957-kurz-00",
    "replace": "REPLACE_WITH_32_RANDOM_CHARACTERS_42",
    "not printable": GOOD_SECRET + "\x07",
    "no text": GOOD_SECRET + "\udcff",
}


@pytest.mark.parametrize("name", WEAK_SECRETS)
def test_a_weak_secret_is_refused_by_name_and_not_shown(name, tmp_path):
    weak = WEAK_SECRETS[name]
    path = tmp_path / "weak"
    path.write_text(weak, errors="surrogateescape")
    for environ, source in (
        ({"KURZ_SECRET": weak}, "KURZ_SECRET"),
        ({"KURZ_SECRET_FILE": str(path)}, "KURZ_SECRET_FILE"),
    ):
        with pytest.raises(SettingRefused) as refused:
            load({}, environ)
        assert refused.value.detail.startswith(source)
        assert weak not in refused.value.detail
        assert weak[:12] not in refused.value.detail


def test_a_weak_secret_in_the_file_of_settings_is_refused_too(tmp_path):
    (tmp_path / "kurz.toml").write_text(f'secret = "{"x" * 64}"')
    with pytest.raises(SettingRefused, match=r"secret in kurz\.toml must be random") as refused:
        load({}, {})
    assert "xxx" not in refused.value.detail


@pytest.mark.parametrize(
    "secret",
    [
        GOOD_SECRET,
        GOOD_SECRET[:32],
        "n0Xq3bV8yTz1LrK5wJp7Gd2Hs9Mf4Ca6Qe+/uB==",
        "Ein langer Satz, den sonst niemand sagt.",
        "пять рыжих лисиц и одна жёлтая утка",
    ],
)
def test_a_random_secret_is_taken(secret):
    assert load({}, {"KURZ_SECRET": secret}).settings.secret == secret
    assert secret not in str(load({}, {"KURZ_SECRET": secret}).sources)


def test_what_openssl_prints_is_practically_always_taken():
    for _ in range(2000):
        secret = token_hex(32)
        assert load({}, {"KURZ_SECRET": secret}).settings.secret == secret


def test_an_administrators_password_is_never_shown():
    with pytest.raises(SettingRefused) as refused:
        load({}, {"KURZ_ADMIN_PASSWORD": "", "KURZ_ADMIN_EMAIL": "ada@example.com"})
    assert refused.value.detail == "KURZ_ADMIN_PASSWORD must not be empty."
    both = {"KURZ_ADMIN_PASSWORD": "hunter2 hunter2", "KURZ_ADMIN_PASSWORD_FILE": "/nowhere"}
    with pytest.raises(SettingRefused) as refused:
        load({}, both)
    assert "hunter2" not in refused.value.detail


def test_the_dashboard_has_a_host_of_its_own_or_none():
    base = {"KURZ_BASE_URL": "https://go.example.com"}
    given = {**base, "KURZ_DASHBOARD_URL": "HTTPS://Kurz.Example.com:443/"}
    assert load({}, given).settings.dashboard_url == "https://kurz.example.com"
    with pytest.raises(SettingRefused, match="requires KURZ_BASE_URL"):
        load({}, {"KURZ_DASHBOARD_URL": "https://kurz.example.com"})
    for address in (
        "https://go.example.com",
        "http://go.example.com:8443",
        "https://go.example.com.",
    ):
        with pytest.raises(SettingRefused, match="must have different hosts"):
            load({}, {**base, "KURZ_DASHBOARD_URL": address})


def test_an_installation_is_local_where_every_address_of_it_is():
    base = {"KURZ_BASE_URL": "http://127.0.0.1:8080"}
    assert load({}, base).settings.is_local
    assert load({}, {**base, "KURZ_DASHBOARD_URL": "http://localhost:8080"}).settings.is_local
    for addresses in (
        {**base, "KURZ_DASHBOARD_URL": "https://kurz.example.com"},
        {"KURZ_BASE_URL": "https://go.example.com", "KURZ_DASHBOARD_URL": "http://localhost"},
        {"KURZ_BASE_URL": "https://go.example.com"},
        {"KURZ_HOST": "192.0.2.1"},
    ):
        assert not load({}, addresses).settings.is_local, addresses


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/m", Rate(10, 60)),
        ("5/15m", Rate(5, 900)),
        ("1/s", Rate(1, 1)),
        ("100/d", Rate(100, 86_400)),
        ("7/90s", Rate(7, 90)),
        ("1/30d", Rate(1, 30 * 86_400)),
        ("off", None),
    ],
)
def test_a_rate_is_a_number_and_a_time(text, rate):
    assert load({}, {"KURZ_LIMIT_CREATE": text}).settings.rates()["create"] == rate
    if rate is not None:
        assert values.rate(str(rate)) == rate


@pytest.mark.parametrize(
    "text", ["10", "10/", "/m", "0/m", "10/0m", "10/31d", "10/m/s", "10/w", "-1/m", "1.5/m", "on"]
)
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(SettingRefused, match="KURZ_LIMIT_CREATE must be a number and a period"):
        load({}, {"KURZ_LIMIT_CREATE": text})


def test_every_policy_has_a_setting_with_its_default():
    assert load({}, {}).settings.rates() == DEFAULT_RATES


def test_a_unix_socket_requires_the_address_of_the_proxy_in_front_of_it():
    environ = {"KURZ_HOST": "unix:/run/kurz/kurz.sock"}
    with pytest.raises(SettingRefused, match="KURZ_BASE_URL"):
        load({}, environ)
    settings = load({}, {**environ, "KURZ_BASE_URL": "https://go.example.com"}).settings
    assert settings.host == environ["KURZ_HOST"]
    assert not settings.is_local

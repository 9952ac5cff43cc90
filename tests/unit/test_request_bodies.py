"""What is left in memory of the bodies of requests."""

import pytest

import kurz.api.app  # noqa: F401  declares the bodies of all routes
from kurz.api.dialects.urls import Login
from kurz.api.http.bodies import DESCRIBED
from kurz.api.schemas.people import Credentials

PASSWORD = "correct horse battery"


@pytest.mark.parametrize("model", [Credentials, Login])
def test_a_password_is_not_kept(model):
    """Texts that pydantic keeps are one object, whoever sends them again."""
    text = f'{{"email": "ada@example.com", "password": "{PASSWORD}"}}'
    first, second = (model.model_validate_json(text) for _ in range(2))
    assert first.password == second.password == PASSWORD
    assert first.password is not second.password


@pytest.mark.parametrize("model", sorted(DESCRIBED, key=str))
def test_no_value_of_a_body_is_kept(model):
    assert model.model_config["cache_strings"] == "keys"

"""The secret is changed while both are accepted: no session and no stored answer is lost."""

import secrets

from support.program import Program

OLD, NEW = secrets.token_hex(32), secrets.token_hex(32)
PERSON = {"email": "ada@example.com", "password": "correct horse battery staple"}
HEADERS = {"Idempotency-Key": "one"}
BODY = {"original_url": "https://example.com/once"}


def statuses(program: Program, token: str) -> tuple[int, int]:
    """Of a question about the person, and of the same create once more."""
    with program.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        answer = client.post("/api/v1/links", json=BODY, headers=HEADERS)
        if answer.status_code == 201:
            assert answer.headers["idempotency-replayed"] == "true"
        return client.get("/api/v1/me").status_code, answer.status_code


def test_sessions_and_stored_answers_outlast_a_change_of_the_secret(start_program):
    program = start_program(KURZ_SECRET=OLD)
    with program.client() as client:
        token = client.post("/api/v1/auth/register", json=PERSON).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        assert client.post("/api/v1/links", json=BODY, headers=HEADERS).status_code == 201
    assert statuses(program, token) == (200, 201)
    program.stop()

    program = start_program(KURZ_SECRET=NEW, KURZ_SECRET_PREVIOUS=OLD)
    assert statuses(program, token) == (200, 201)
    with program.client() as client:
        fresh = client.post("/api/v1/auth/sign-in", json=PERSON).json()["token"]
    program.stop()

    program = start_program(KURZ_SECRET=NEW)
    assert statuses(program, token) == (401, 401)
    assert statuses(program, fresh) == (200, 422)  # the stored answer cannot be read

"""The OpenAPI document reads well: names are names, and nothing is written out many times."""

from kurz.api.app import create_api

DOCUMENT = create_api(None).openapi()  # type: ignore[arg-type]


def test_no_schema_is_named_after_a_module():
    """Two models of the same name get the paths of their modules as names."""
    assert [name for name in DOCUMENT["components"]["schemas"] if "__" in name] == []


def test_every_problem_is_one_of_the_shared_responses():
    shared = {f"#/components/responses/{name}" for name in DOCUMENT["components"]["responses"]}
    answers = [
        answer
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if status >= "400"
    ]
    assert len(answers) > 500
    assert [answer for answer in answers if answer.keys() != {"$ref"}] == []
    assert {answer["$ref"] for answer in answers} == shared

"""What the routes share.

`dependencies`: the services that routes use, and facts about the request.
`callers`: who sends a request: a session's token, a key, or nobody.
`devices`: signing in, and the cookie of a known browser.
`administrators`: routes for administrators, with the audit log.
`spaces`: whose links a request is about: the caller's own or a workspace's.
`security`: who may call an operation, as the OpenAPI document shows it.
`cors`: pages of other origins that use the API.
`middleware`: the size limit of bodies.
`direct`: calls the most frequent routes without FastAPI.
`bodies`: reads and validates bodies.
`uploads`: files in requests.
`downloads`: files in answers, streamed.
`pages`: `cursor` and `limit` of lists; `cursors`: the position after a page, as one opaque word.
`idempotency`: the same request, sent again, gets the same answer.
`responses`: answers that are already text.
`problems`: errors as RFC 9457 problems; decides the API's status codes.
`health`: the health of an instance, by component.
"""

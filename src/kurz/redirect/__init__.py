"""The read path, whole: from a short code to the bytes of an answer.

`lane`: the fast lane: answers from memory, without a framework.
`head`: the head of a request, as the lane reads it; `repeated`: the part that many requests repeat.
`app`: the ASGI path, for everything that the lane declines.
`parts`: what the lane and the ASGI path share.
`hot`: the links in the memory of this worker; `entry`: one of them; `packed`: its form there.
`resolve`: memory, then the second tier, then the store.
`slugs`: which workspace a slug means.
`visits`: records a redirect as a click.
`preview_bots`: who requests a link without following it.
`misses`: slows down visitors who try many unknown codes.
`counters`: how many answers of each kind a worker gave.
`answers`: the bytes and the pages that visitors get.
"""

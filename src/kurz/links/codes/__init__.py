"""The kinds of short codes. Everything here is pure.

`random`: random codes.
`counter`: codes from a counter.
`permutation`: hides a counter, and can be undone.
`deterministic`: codes computed from the URL.
`custom`: codes that people choose.
`alphabets`: numbers written as codes.
`words`: reserved and unwanted words.
"""

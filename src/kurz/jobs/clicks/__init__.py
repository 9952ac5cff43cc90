"""From the journals of clicks to the store, each click exactly once.

`journals`: the folders of journals, and the end of counted segments.
`survey`: which segments there are, and how far each is counted.
`loader`: reads the next clicks and stores their sums.
`counting`: what the loader does with the bytes of a segment.
`owners`: the workspace and the tags of links, cached.
`pace`: how many clicks are counted at a time.
"""

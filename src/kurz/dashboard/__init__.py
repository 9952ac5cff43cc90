"""The dashboard as it is served: Home, the pages under /app, and the files they load. The files are
built from `web/` (web/README.md).

`app`: answers Home, the pages under /app, and their files.
`build`: the files that a build of `web/` left in the package.
`shell`: the empty page that the dashboard's scripts fill.
"""

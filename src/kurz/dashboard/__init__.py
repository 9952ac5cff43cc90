"""The dashboard as it is served: Home, the pages under /app, and the files they load.

The files are built from `web/` (docs: web/README.md); no page is made here but the empty shell.
"""

"""Other shorteners' paths and field names over the same services. Thin: they only translate.

`urls`: `/api/urls`, `/api/auth` and `/api/stats`, in camelCase.
"""

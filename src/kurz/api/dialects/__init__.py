"""Other shorteners' paths and words over the same services. Thin: they only translate."""

"""Export and import of links: one format, as CSV or JSON Lines, streamed both ways."""

"""What kurz asks of the outside."""

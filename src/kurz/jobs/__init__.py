"""What goes on in the background."""

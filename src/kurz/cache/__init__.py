"""What instances share through Redis or Valkey."""

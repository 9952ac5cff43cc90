"""What a person types. Commands import what they need when they run, so that all start fast."""

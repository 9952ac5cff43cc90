"""The read path, whole: from a short code to the bytes of an answer."""

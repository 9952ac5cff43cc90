"""Links: what they are, how their codes and URLs are made, and what may be done with them."""

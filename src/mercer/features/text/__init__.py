"""From documents to terms."""

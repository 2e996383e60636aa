"""Consumer groups as configured on this broker."""

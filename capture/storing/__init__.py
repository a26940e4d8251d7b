"""How graphs are stored: what files share, and names that do not depend on the place."""

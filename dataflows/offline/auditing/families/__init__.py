"""Know all families of operators, and ask each about its own."""

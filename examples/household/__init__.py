"""Half a year of a power grid: zones hour by hour, and what households want hidden in them."""

"""A day in a city: how many people are in each zone, from raw records to an analyst's picture."""

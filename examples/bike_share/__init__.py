"""Two weeks of a bike-share: rentals by district, released every hour under one budget."""

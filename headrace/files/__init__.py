"""Files on any filesystem that Spark reads: listing, opening, formats, sizes."""

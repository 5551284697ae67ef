"""Functions of packages that nobody here wrote, found by rule, with floors of what is captured of them."""

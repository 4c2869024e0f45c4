"""The page of `report`: values in, one HTML file out.

`report_data` has the values: what `report --json` prints is all that the page shows. `ranking` orders groups by what
tuning saves and by risk, `drawing` makes the figures, and `page` fills `templates` with both. Everything here is pure:
`cli.reporting` gathers the values.
"""

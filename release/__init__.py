"""What people download of a version, made from a commit into `dist/`: `make release`.

Everything is made from the files of one commit, with that commit's time in place of the clock, so that two people who
make it have the same bytes. Nothing is published here. Rooms: `source` (the commit), `versions` (its names), one module
for each kind of file (`python_packages`, `chart`, `olm`, `plugin`, `images`, `notes`), what can be known of them
(`materials`, `provenance`), and `integrity` (sums and signatures).
"""

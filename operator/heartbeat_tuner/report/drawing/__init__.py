"""Figures as inline SVG: `scales` place values, `plot_frame` has axes and marks, each other module draws one kind.

All text goes through ElementTree, which escapes it. Colours are classes: the page's style decides on light, dark and
print. Each figure has a title and a description for who cannot see it.
"""

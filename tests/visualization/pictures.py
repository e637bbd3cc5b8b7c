"""What stands in a figure."""


def texts_of(figure):
    """The texts of a figure, drawn as a file would have it."""
    figure.draw_without_rendering()
    found = figure.findobj(lambda x: hasattr(x, "get_text") and x.get_visible())
    return [x.get_text() for x in found]

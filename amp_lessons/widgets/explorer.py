"""What all explorers share: live controls, and their first state as HTML for a page without a kernel."""

from amp_lessons.live import show_live


class Explorer:
    """A live panel. As the last value of a cell it displays itself; ``box`` is the ipywidgets container."""

    box = None

    def fallback_html(self) -> str:
        """Return the present state as plain HTML, for pages that have no kernel behind them."""
        raise NotImplementedError

    def _ipython_display_(self):
        show_live(self.box, self.fallback_html())

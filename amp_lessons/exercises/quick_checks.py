"""quick_check("id"): buttons below a question in the text. Not graded."""

from amp_lessons.exercises import catalogue
from amp_lessons.exercises.panel import STYLE, Panel, folded, framed, paragraph
from amp_lessons.live import show_live


def quick_check(quick_id=None):
    """Buttons for the choices of the question above, with a reply to each."""
    try:
        return Buttons(catalogue.current().quick_check(quick_id))
    except catalogue.UnknownId as unknown:
        return Panel(paragraph(str(unknown)), str(unknown))


class Buttons:
    """One button for each choice, and the reply to the last one pressed in `reply`, an HTML widget."""

    def __init__(self, question):
        self.question = question
        self.buttons = []
        self.reply = None

    def _ipython_display_(self):
        try:
            import ipywidgets
        except ImportError:  # without widgets the answers can still be read
            from IPython.display import display

            display({"text/plain": repr(self), "text/html": self.fallback_html()}, raw=True)
            return
        show_live(self.box(ipywidgets), self.fallback_html())

    def box(self, ipywidgets):
        """The widget: a row of buttons with the reply below."""
        self.reply = ipywidgets.HTML(value="")
        self.buttons = []
        for choice in self.question.choices:
            layout = ipywidgets.Layout(width="4em")
            button = ipywidgets.Button(description=choice.label, tooltip=choice.text, layout=layout)
            button.on_click(lambda _, choice=choice: self._answer(choice))
            self.buttons.append(button)
        return ipywidgets.VBox([ipywidgets.HBox(self.buttons), self.reply])

    def fallback_html(self):
        """The replies to all choices, folded away, for a page without a kernel."""
        replies = "".join(
            paragraph(f"{choice.label}: {in_words(choice)}") for choice in self.question.choices
        )
        return folded("Answers", replies)

    def _answer(self, choice):
        style = "correct" if choice.right else "not yet"
        text = f"{STYLE[style][0]} {choice.label}: {in_words(choice)}"
        self.reply.value = framed(paragraph(text), style)

    def __repr__(self):
        return "\n".join(f"{choice.label}: {in_words(choice)}" for choice in self.question.choices)


def in_words(choice):
    """The reply to a choice: right or not in words first."""
    return f"{'Right.' if choice.right else 'Not quite.'} {choice.reply}"

"""The bits of one number as buttons: flip a bit or type a number, and see what the format makes of it."""

import html
import math

import ipywidgets

from amp_lessons.formats import FORMATS, FP16, as_float, bits_of, format_of, power_of_two, value_of
from amp_lessons.widgets.bit_text import bit_meaning, description_html
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.number_text import number_from

# Background and text colour always together, so that the digits are legible in a light and a dark theme.
_STYLE = """<style>
.amp-bit {padding: 0 !important; font-family: monospace !important; color: #000 !important;}
.amp-bit-sign {background: #F2DCE8 !important; border: 2px solid #CC79A7 !important;}
.amp-bit-exponent {background: #DDF0FB !important; border: 2px solid #56B4E9 !important;}
.amp-bit-mantissa {background: #FCF0D5 !important; border: 2px solid #E69F00 !important;}
.amp-bit-one {font-weight: bold !important;}
.amp-bit-sign.amp-bit-one {background: #CC79A7 !important;}
.amp-bit-exponent.amp-bit-one {background: #56B4E9 !important;}
.amp-bit-mantissa.amp-bit-one {background: #E69F00 !important;}
.amp-bit:focus {outline: 3px solid #7A3DB8 !important; outline-offset: 1px;}
</style>"""
_GROUPS = ("sign", "exponent", "mantissa")


class BitExplorer(Explorer):
    """Shows one number in FP32, FP16 or BF16, bit by bit.

    Controls: ``format_buttons``, ``number_field`` (text), ``bit_buttons`` (left to right) and ``presets``.
    State: ``text`` (the number asked for, as it was typed), ``typed`` (the same as a float), ``bits``
    ("0101...") and ``value`` (what PyTorch reads from them).
    """

    def __init__(self, value: float | str = 1e-4, fmt: str = "fp16"):
        self.fmt = format_of(fmt)
        self.text = value.strip() if isinstance(value, str) else repr(as_float(value))
        self.typed = number_from(self.text)
        self.bits = bits_of(self.typed, self.fmt)
        self._writing = False
        self._buttons = {}

        self.format_buttons = ipywidgets.ToggleButtons(
            options=[(known.label, name) for name, known in FORMATS.items()],
            value=self.fmt.name,
            tooltips=[
                f"{known.bits} bits: 1 sign, {known.exponent_bits} exponent, {known.mantissa_bits} mantissa"
                for known in FORMATS.values()
            ],
            style={"button_width": "5em"},
        )
        self.number_field = ipywidgets.Text(
            value=self.text,
            continuous_update=False,
            description="number:",
            style={"description_width": "initial"},
            layout=ipywidgets.Layout(width="19em"),
        )
        self.message = ipywidgets.HTML()
        self.presets = [self._preset(text, words) for text, words in _cliffs(FP16)]
        self.bits_box = ipywidgets.HBox(layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.result = ipywidgets.HTML()

        self.format_buttons.observe(self._choose_format, "value")
        self.number_field.observe(self._type_number, "value")
        wrap = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        self.box = ipywidgets.VBox(
            [
                ipywidgets.HTML(_STYLE, layout=ipywidgets.Layout(height="0", margin="0")),
                ipywidgets.HBox([self.format_buttons, self.number_field], layout=wrap),
                self.message,
                ipywidgets.HBox(
                    [ipywidgets.HTML(f"{FP16.label}’s cliffs:&nbsp;"), *self.presets], layout=wrap
                ),
                self.bits_box,
                self.result,
            ]
        )
        self.box.add_class("amp-bit-explorer")
        self._show_format()

    @property
    def value(self) -> float:
        """The number that PyTorch reads from the bits, as a Python float."""
        return value_of(self.bits, self.fmt)

    @property
    def bit_buttons(self) -> list:
        """The buttons of the present format, the sign first."""
        return self._buttons[self.fmt.name]

    def set_number(self, text: str) -> None:
        """Do what typing into the field does: round the number to the format, or say what is wrong."""
        try:
            typed = number_from(text)
        except ValueError as problem:
            self.message.value = (
                '<div role="status" style="line-height:1.4"><b>Not changed.</b> '
                f"{html.escape(str(problem))}</div>"
            )
            return
        self.text, self.typed = text, typed
        self.bits = bits_of(self.typed, self.fmt)
        self._show_bits()

    def flip(self, place: int) -> None:
        """Flip the bit at ``place`` (0 is the sign); the number field then holds the new number."""
        flipped = "1" if self.bits[place] == "0" else "0"
        self.bits = self.bits[:place] + flipped + self.bits[place + 1 :]
        self.typed = self.value
        self.text = repr(self.typed)
        self._show_bits()

    def fallback_html(self) -> str:
        """Return the present bits and value as plain HTML."""
        sign, exponent, mantissa = _split(self.bits, self.fmt)
        return (
            f"<p>The number {html.escape(self.text)} in {self.fmt.label}: "
            f"sign <code>{sign}</code>, "
            f"exponent <code>{exponent}</code>, mantissa <code>{mantissa}</code>.</p>"
            + description_html(self.typed, self.bits, self.fmt)
            + "<p>With a running kernel, each bit is a button and you can type another number.</p>"
        )

    def _preset(self, text, words):
        button = ipywidgets.Button(description=text, tooltip=words, layout=ipywidgets.Layout(width="auto"))
        button.on_click(lambda _: self.set_number(text))
        return button

    def _type_number(self, change):
        if not self._writing:
            self.set_number(change["new"])

    def _choose_format(self, change):
        self.fmt = format_of(change["new"])
        self.bits = bits_of(self.typed, self.fmt)
        self._show_format()

    def _show_format(self):
        if self.fmt.name not in self._buttons:
            self._buttons[self.fmt.name] = self._make_buttons()
        groups, start = [], 0
        for name, bits in zip(_GROUPS, _split(self.bits, self.fmt)):
            buttons = self.bit_buttons[start : start + len(bits)]
            start += len(bits)
            title = f"{name}: {len(bits)} bit{'s' if len(bits) > 1 else ''}" if len(bits) > 1 else name
            groups.append(
                ipywidgets.VBox(
                    [ipywidgets.HTML(title), ipywidgets.HBox(buttons)],
                    layout=ipywidgets.Layout(margin="0 10px 0 0"),
                )
            )
        self.bits_box.children = groups
        self._show_bits()

    def _make_buttons(self):
        layout = ipywidgets.Layout(
            width="18px" if self.fmt.bits > 16 else "26px", height="30px", margin="1px"
        )
        group_of = [name for name, bits in zip(_GROUPS, _split(self.bits, self.fmt)) for _ in bits]
        buttons = []
        for place, group in enumerate(group_of):
            button = ipywidgets.Button(description="0", tooltip=bit_meaning(place, self.fmt), layout=layout)
            button.add_class("amp-bit")
            button.add_class(f"amp-bit-{group}")
            button.add_class(f"amp-bit-place-{place}")
            button.on_click(lambda _, place=place: self.flip(place))
            buttons.append(button)
        return buttons

    def _show_bits(self):
        for button, bit in zip(self.bit_buttons, self.bits):
            if button.description != bit:
                button.description = bit
                if bit == "1":
                    button.add_class("amp-bit-one")
                else:
                    button.remove_class("amp-bit-one")
        self._write_field()
        self.message.value = ""
        self.result.value = description_html(self.typed, self.bits, self.fmt)

    def _write_field(self):
        self._writing = True  # the field's own observer must not read this back
        try:
            self.number_field.value = self.text
        finally:
            self._writing = False


def bit_explorer(value: float | str = 1e-4, fmt: str = "fp16") -> BitExplorer:
    """Return a panel with the bits of ``value`` in ``fmt`` ("fp32", "fp16" or "bf16") as buttons.

    Raises ValueError for a value or format that can't be read.
    """
    return BitExplorer(value, fmt)


def _split(bits, fmt):
    return bits[:1], bits[1 : 1 + fmt.exponent_bits], bits[1 + fmt.exponent_bits :]


def _cliffs(fmt):
    """The numbers at which something changes, as text for the field, each with what happens there."""
    normal, tiny, flush = (
        power_of_two(round(math.log2(number)))
        for number in (fmt.smallest_normal, fmt.smallest_subnormal, fmt.flush_limit)
    )
    return [
        (f"{fmt.largest:.0f}", f"the largest {fmt.label} number"),
        (f"{fmt.overflow_limit - 1:.0f}", f"still rounds down to {fmt.largest:.0f}"),
        (f"{fmt.overflow_limit:.0f}", "from here on a number becomes infinity"),
        (normal, "the smallest normal number"),
        (tiny, "the smallest subnormal number"),
        (flush, "half of the smallest number: from here down, everything becomes 0"),
        (f"1.001 × {flush}", f"just above {flush}: rounds up to {tiny}"),
    ]

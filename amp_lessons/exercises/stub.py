"""Reads a stub: which names it defines, which are to fill, and whether an answer still is the stub."""

import ast
import types

_UNKNOWN = object()  # the value of an expression that only running it would tell
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def names_defined(source):
    """The names that a cell defines at top level, in order. SyntaxError where it does not parse."""
    return list(dict.fromkeys(name for name, _ in _definitions(ast.parse(source).body)))


class Stub:
    """A stub's text, read once. ValueError where it does not parse or defines nothing to fill."""

    def __init__(self, source, exercise_id):
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            raise ValueError(f"The stub of {exercise_id!r} does not parse: {error}.") from error
        self.source = source
        self._statements = dict(_definitions(tree.body))
        self._codes = {
            code.co_name: code for code in _codes_in(compile(source, "<stub>", "exec", dont_inherit=True))
        }
        self.names = list(self._statements)
        # A stub that marks what is missing is filled there. One without a mark is code to repair.
        self.to_fill = [name for name in self.names if _is_marked(self._statements[name])] or self.names
        if not any(self._can_compare(name) for name in self.to_fill):
            raise ValueError(f"The stub of {exercise_id!r} leaves nothing to fill: no `...`, no function.")

    def is_callable(self, name):
        """Whether the stub makes `name` a function or a class."""
        return isinstance(self._statements[name], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))

    def is_untouched(self, name, value):
        """Whether `value` is what running the stub gives for `name`."""
        if self.is_callable(name):
            return self._same_function(name, value) or self._same_class(name, value)
        if is_left_open(value):
            return True
        return _same_literal(_literal(getattr(self._statements[name], "value", None)), value)

    def _can_compare(self, name):
        statement = self._statements[name]
        if self.is_callable(name) or _is_marked(statement):
            return True
        return _literal(getattr(statement, "value", None)) is not _UNKNOWN

    def _same_function(self, name, value):
        code = self._codes.get(name)
        if type(value) is not types.FunctionType or code is None:
            return False
        arguments = getattr(self._statements[name], "args", None)
        defaults = [_literal(node) for node in arguments.defaults] if arguments else []
        # A default that is no literal can't be told from the text: only the code counts then.
        known = not any(default is _UNKNOWN for default in defaults)
        same_defaults = not known or _same_literal(tuple(defaults), value.__defaults__ or ())
        return same_defaults and _same_code(value.__code__, code)

    def _same_class(self, name, value):
        body = self._codes.get(name)
        if not isinstance(value, type) or body is None:
            return False
        mine = {code.co_name: code for code in _codes_in(body)}
        theirs = {key: item.__code__ for key, item in vars(value).items() if type(item) is types.FunctionType}
        # Python 3.14 keeps a class's annotations in a function of their own.
        mine.pop("__annotate__", None)
        theirs = {key: code for key, code in theirs.items() if not key.startswith("__annotate")}
        return mine.keys() == theirs.keys() and all(_same_code(mine[key], theirs[key]) for key in mine)


def is_left_open(value):
    """Whether `value` is `...`, or a list, tuple or dict with nothing but `...` in it."""
    if value is ...:
        return True
    if type(value) is dict:
        value = list(value.values())
    return type(value) in (list, tuple) and len(value) > 0 and all(item is ... for item in value)


def _definitions(statements):
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from ((name, statement) for name in _names_in(target))
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            yield from ((name, statement) for name in _names_in(statement.target))
        else:
            for block in ("body", "handlers", "orelse", "finalbody", "cases"):
                yield from _definitions(getattr(statement, block, None) or [])


def _names_in(target):
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Starred):
        yield from _names_in(target.value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names_in(element)


def _is_marked(statement):
    """Whether the statement says that something is missing: `...` or NotImplementedError."""
    return any(
        (isinstance(node, ast.Constant) and node.value is ...)
        or (isinstance(node, ast.Name) and node.id == "NotImplementedError")
        for node in ast.walk(statement)
    )


def _literal(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return _UNKNOWN


def _same_literal(one, other):
    """Whether two values are the same literal. Asks no object of the learner's for its opinion."""
    if type(one) is not type(other) or one is _UNKNOWN:
        return False
    if type(one) is dict:
        one, other = list(one.items()), list(other.items())
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(_same_literal, one, other))
    return type(one) in _PLAIN and repr(one) == repr(other)


def _codes_in(code):
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _same_code(one, other):
    """Whether two code objects do the same, wherever they stand."""
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    for mine, theirs in zip(one.co_consts, other.co_consts):
        if isinstance(mine, types.CodeType) and isinstance(theirs, types.CodeType):
            if not _same_code(mine, theirs):
                return False
        elif type(mine) is not type(theirs) or repr(mine) != repr(theirs):
            return False
    return True

"""What all hearings share: their names, and how an argument is found by position or by name."""

# A call of these inside another of these is a part of it: step() unscales, a subclass calls super().
SCALER = "scaler step", "unscale", "update", "scale", "state dict", "copy scaler"


def hears(name, part_of=()):
    """Name a generator; it is not asked inside calls of the names in ``part_of``."""

    def give(generator):
        generator.name, generator.part_of = name, frozenset(part_of)
        return generator

    return give


def argument(args, kwargs, position, name, default=None):
    """Return an argument that may be given by position or by name."""
    return args[position] if len(args) > position else kwargs.get(name, default)

"""Failures of programs that took a result for something else than it is."""

from gristmill.runtime.hints.failure_class import FailureClass

_TYPE = frozenset({"TypeError"})
_SHAPES = ("shapes",)

RESULT_FAILURES = (
    FailureClass(
        name="result.error_text",
        when="a tool answered with the text of an error, and the program took it for data",
        errors=frozenset({"TypeError", "KeyError", "AttributeError", "JSONDecodeError", "ValueError", "IndexError"}),
        needs=("error_answer",),
        hint="{error_answer}: that is an error, not data; change the call",
    ),
    FailureClass(
        name="result.json_loads",
        when="`json.loads` is called with a result that is parsed already",
        errors=_TYPE,
        text=r"the JSON object must be str, bytes or bytearray, not (?P<kind>\w+)",
        hint="results are parsed already (this one is a {kind}): leave json.loads out",
    ),
    FailureClass(
        name="result.json_text",
        when="a text is parsed that is not JSON",
        errors=frozenset({"JSONDecodeError"}),
        hint="this text is not JSON (JSON has double quotes, null, true); print its first 200 characters{shapes_too}",
    ),
    FailureClass(
        name="result.key",
        when="a key is read that the result does not have",
        errors=frozenset({"KeyError"}),
        text=r"KeyError: (?P<key>'[^'\n]*'|\S+)",
        needs=_SHAPES,
        hint="there is no key {key}: {shapes}",
    ),
    FailureClass(
        name="result.list_as_object",
        when="a list is read by a key",
        errors=_TYPE,
        text=r"list indices must be integers or slices, not str",
        needs=_SHAPES,
        hint="this is a list, not an object: loop over it or take [0]; {shapes}",
    ),
    FailureClass(
        name="result.text_as_object",
        when="a text, or a key of an object that is looped over, is read by a key",
        errors=_TYPE,
        text=r"string indices must be integers",
        needs=_SHAPES,
        hint="this is a text; looping over an object gives its keys, not its items: {shapes}",
    ),
    FailureClass(
        name="result.attribute",
        when="a field is read that the object does not have",
        errors=frozenset({"AttributeError"}),
        text=r"'dict' object has no attribute '(?P<key>\w+)'|this object has no '(?P<field>[^'\n]{1,80})'",
        needs=_SHAPES,
        hint="there is no field {key}{field}: {shapes}",
    ),
    FailureClass(
        name="result.list_attribute",
        when="a list is used as if it were an object",
        errors=frozenset({"AttributeError"}),
        text=r"'list' object has no attribute '(?P<key>\w+)'",
        needs=_SHAPES,
        hint="this is a list, which has no {key}: loop over it; {shapes}",
    ),
    FailureClass(
        name="result.text_attribute",
        when="a text or a number is used as if it were an object",
        errors=frozenset({"AttributeError"}),
        text=r"'(?P<kind>str|int|float|bool)' object has no attribute '(?P<key>\w+)'",
        needs=_SHAPES,
        hint="this is a {kind}, which has no {key}: {shapes}",
    ),
    FailureClass(
        name="result.none",
        when="a result, or a part of it, is None",
        errors=frozenset({"TypeError", "AttributeError"}),
        text=r"'NoneType' object",
        needs=_SHAPES,
        hint="a value is None here: test it before it is used (`if value is not None`); {shapes}",
    ),
    FailureClass(
        name="result.index",
        when="an item is read that the list does not have",
        errors=frozenset({"IndexError"}),
        needs=_SHAPES,
        hint="the list is shorter than the program expects, or empty: test len() first; {shapes}",
    ),
    FailureClass(
        name="result.empty",
        when="`max`, `min`, a mean or a division meets an empty result",
        errors=frozenset({"ValueError", "StatisticsError", "ZeroDivisionError"}),
        text=r"empty sequence|iterable argument is empty|at least one data point|division by zero|empty iterable",
        needs=_SHAPES,
        hint="there is nothing to compute with here: test for an empty list first (`max(values, default=0)`); {shapes}",
    ),
    FailureClass(
        name="result.date_text",
        when="a date and a text are subtracted or compared",
        errors=_TYPE,
        text=r"datetime\.date(?:time)?|offset-naive and offset-aware",
        hint=(
            "dates in results are texts: convert both sides with datetime.fromisoformat, both with or both without a "
            "time zone{shapes_too}"
        ),
    ),
    FailureClass(
        name="result.number_text",
        when="numbers and texts are added or multiplied",
        errors=_TYPE,
        text=r"can only concatenate str|unsupported operand type\(s\) for .*'(?:str|dict|list|NoneType)'|can't multiply sequence",
        hint=(
            "two values are not of the same kind: convert with int(), float() or str(), or take the field of the "
            "object{shapes_too}"
        ),
    ),
    FailureClass(
        name="result.compare",
        when="values of different kinds are compared or sorted",
        errors=_TYPE,
        text=r"'(?:<|>|<=|>=)' not supported between instances of '(?P<one>\w+)' and '(?P<other>\w+)'",
        hint=(
            "{one} and {other} cannot be compared: name the field (key=lambda row: row[...]) and say what counts for "
            "None{shapes_too}"
        ),
    ),
    FailureClass(
        name="result.unhashable",
        when="objects or lists are put into a set or used as keys",
        errors=_TYPE,
        text=r"unhashable type: '(?P<kind>\w+)'|cannot use '(?P<used>\w+)' as a",
        hint="objects and lists cannot be in a set or be keys: use one field of them, such as the id{shapes_too}",
    ),
    FailureClass(
        name="result.not_iterable",
        when="a number is looped over or unpacked",
        errors=_TYPE,
        text=(
            r"'(?P<kind>int|float|bool)' object is not (?:iterable|subscriptable)|cannot unpack non-iterable"
            r"|object of type '(?P<sized>\w+)' has no len"
        ),
        hint="this value is a single number, not a list or an object{shapes_too}",
    ),
    FailureClass(
        name="result.unpack",
        when="the parts of a value are not as many as the names",
        errors=frozenset({"ValueError"}),
        text=r"too many values to unpack|not enough values to unpack",
        hint="the value has another number of parts: looping over an object gives its keys, .items() gives pairs{shapes_too}",
    ),
    FailureClass(
        name="result.number_parse",
        when="a text is not a number",
        errors=frozenset({"ValueError"}),
        text=r"could not convert string to float|invalid literal for int\(\)",
        hint=(
            "the text is not a plain number: remove units, thousands separators and blanks first, and skip what is "
            "empty{shapes_too}"
        ),
    ),
    FailureClass(
        name="result.date_parse",
        when="a text is not a date in the expected form",
        errors=frozenset({"ValueError"}),
        text=r"Invalid isoformat string|does not match format|unconverted data remains|month must be in|day is out of range",
        hint=(
            "the date has another form: print one value, then use datetime.strptime with that form; ISO dates sort and "
            "compare as texts{shapes_too}"
        ),
    ),
    FailureClass(
        name="result.not_serializable",
        when="a value is dumped that JSON does not have",
        errors=_TYPE,
        text=r"Object of type (?P<kind>\w+) is not JSON serializable",
        hint=(
            "json.dumps(value, default=str) writes a {kind} as text; a result needs no json.dumps: end the program with "
            "the value itself"
        ),
    ),
)

"""Write a pipeline file to begin with: every key says what it is, and the file validates."""

import os
import re
import secrets
from pathlib import Path
from typing import Annotated

import orjson
import typer
import yaml

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import kind_instead_of
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.schema import Schema, json_schema
from fugu.dataflows.kinds import KINDS

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,200}")
_TEMPLATES = Path(__file__).with_name("templates")
_STAYS = 0.7
_KEYS = 30_000
_COMMENT_FROM = 44


def init(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="The pipeline file to write (YAML).")
    ] = Path("pipeline.yaml"),
    kind: Annotated[str | None, typer.Option(help="The kind of operator: see fugu kinds.")] = None,
    source: Annotated[str | None, typer.Option(help="The private topic.")] = None,
    field: Annotated[str | None, typer.Option(help="The field to release.")] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Ask nothing; take what is usual where nothing is given."),
    ] = False,
) -> None:
    """Write a pipeline file with a comment on every key, and the files that it needs.

    What is not given is asked for. Nothing that exists is overwritten. Then edit the file: its
    numbers are those of an example, and so are a model or policies beside it.
    """
    chosen = _told("kind", kind, "crr", yes)
    if chosen not in KINDS:
        raise ConfigurationError(f"--kind: {kind_instead_of(chosen, KINDS)}")
    topic = _told("source", source, "events", yes)
    if not _TOPIC.fullmatch(topic):
        raise ConfigurationError(
            "--source: use letters, digits, dot, underscore and minus only, at most 200 of them"
        )
    written = _files(file, chosen, topic, _told("field", field, "value", yes))
    _write(written)
    Terminal(soft_wrap=True).print(
        f"wrote {', '.join(map(str, written))}. Edit what is an example, keep the secret to "
        f"yourself, and then\n  fugu validate {file} --kafka\n  fugu explain {file}",
        highlight=False,
    )


def write_example(folder: Path, kind: str) -> Path:
    """Write what `init --yes` writes for a kind into a folder; return the pipeline file."""
    file = folder / f"{kind}.yaml"
    _write(_files(file, kind, "events", "value"))
    return file


_QUESTIONS = {
    "kind": "Kind of operator (fugu kinds lists all)",
    "source": "Private topic",
    "field": "Field to release",
}


def _told(option: str, given: str | None, usual: str, yes: bool) -> str:
    """Return what an option says, or the answer to a question on the terminal."""
    if given is not None:
        return given
    if yes:
        return usual
    if not os.isatty(0):
        raise ConfigurationError(
            f"there is no terminal to ask on; write --{option} {usual}, or --yes for what is usual"
        )
    return str(typer.prompt(_QUESTIONS[option], default=usual))


def _files(file: Path, kind: str, topic: str, field: str) -> dict[Path, str]:
    """Return the content of the pipeline file and of all that it names."""
    example, stem = yaml.safe_load(KINDS[kind].example), file.name.split(".")[0]
    beside: dict[Path, str] = {file.with_name(f"{stem}.secret"): secrets.token_hex(32) + "\n"}
    lines = KINDS[kind].example
    for key, ending, content in (
        ("model", "model.json", _model(example.get("alphabet", []))),
        ("policies", "policies.yaml", (_TEMPLATES / "policies.yaml").read_text(encoding="utf-8")),
    ):
        if key in example:
            beside[file.with_name(f"{stem}.{ending}")] = content
            lines = lines.replace(example[key], f"{stem}.{ending}")
    return {file: _pipeline(stem, kind, lines, topic, field), **beside}


def _write(files: dict[Path, str]) -> None:
    for path in files:
        if path.exists():
            raise ConfigurationError(f"{path} is there already; name a file that is not")
    for path, content in files.items():
        try:
            mode = 0o600 if path.suffix == ".secret" else 0o644
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written ({error.strerror})") from None
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(content)


def _pipeline(stem: str, kind: str, example: str, topic: str, field: str) -> str:
    whole = json_schema()
    definitions = whole["$defs"]
    name = re.sub(r"[^a-zA-Z0-9._-]", "-", stem)[:200] or "pipeline"
    operator = definitions[KINDS[kind].__name__]
    what = {"kind": {"description": operator["description"].split("\n")[0]}}
    sections = {
        "source": f"topic: {topic}\nvalue: {_word(field)}\n"
        + ("timestamp: kafka\n" if "ticks" in KINDS[kind].reads else ""),
        "operator": f"kind: {kind}\n{example}",
        "budget": "total: 200\n" if KINDS[kind].no_budget is None else "",
        "sink": f"topic: {topic}.sanitized\nkey: pseudonym\ncreate: true\n",
        "kafka": 'bootstrap: "localhost:9092"\n',
        "state": f"directory: ./{_word(stem)}.state\nmax_keys: {_KEYS}\n",
        "secret": f"file: {_word(f'{stem}.secret')}\n",
    }
    lines = [
        "# Written by `fugu init`. All keys: `fugu schema --markdown`.",
        *_commented(f"name: {name}", whole["properties"], ""),
    ]
    for section, content in sections.items():
        if not content:
            continue
        if section == "operator":
            keys = operator["properties"] | what
        else:
            keys = definitions[_TITLES[section]]["properties"]
        lines += ["", f"{section}:"]
        for line in content.splitlines():
            lines += _commented(line, keys, "  ")
    return "\n".join(lines) + "\n"


_TITLES = {
    "source": "Source",
    "budget": "Budget",
    "sink": "Sink",
    "kafka": "Kafka",
    "state": "StateSection",
    "secret": "SecretSource",
}


def _commented(line: str, keys: Schema, indent: str) -> list[str]:
    """Return a line of a section with what its key is, where it begins one."""
    about = keys.get(line.split(":")[0], {}).get("description", "")
    return [f"{indent + line:<{_COMMENT_FROM}}  # {about}" if about else indent + line]


def _word(text: str) -> str:
    """Write a text so that YAML reads it as that."""
    plain = re.fullmatch(r"[\w./-]+", text) and yaml.safe_load(text) == text
    return text if plain else orjson.dumps(text).decode()


def _model(alphabet: list[str]) -> str:
    """Invent a model in which a symbol mostly stays what it was."""
    others = (1.0 - _STAYS) / max(len(alphabet) - 1, 1)
    model = {
        "format": "fugu-markov-model",
        "format_version": 2,
        "description": "Invented by fugu init. Learn yours: fugu model learn.",
        "alphabet": alphabet,
        "prior": [1.0 / max(len(alphabet), 1)] * len(alphabet),
        "transition": [
            [_STAYS if to == symbol else others for to in alphabet] for symbol in alphabet
        ],
    }
    return orjson.dumps(model, option=orjson.OPT_INDENT_2).decode() + "\n"

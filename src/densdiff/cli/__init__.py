"""The ``densdiff`` command: arguments in, text, JSON and files out.

Every failure is one line on standard error with exit status 2; ``--debug`` shows the traceback too. Nothing is
estimated here, and the library is imported by the command that needs it, so that help comes at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
except ModuleNotFoundError:
    print("densdiff: the command line needs typer: pip install 'densdiff[cli]'", file=sys.stderr)
    raise SystemExit(2) from None
except KeyboardInterrupt:
    raise SystemExit(130) from None

from densdiff.cli.failures import SCHEMA, OneLineErrors, emit
from densdiff.cli.inputs import (
    cluster,
    file_label,
    name_inputs,
    parse_columns,
    parse_effects,
    parse_layout,
    read_classes,
    refuse_clock,
    refuse_file,
    refuse_missing,
    refuse_other_ending,
    refuse_twice,
    refuse_unwritable,
    show_name,
    split_names,
)
from densdiff.progress import Progress

app = typer.Typer(
    cls=OneLineErrors,
    help="Compare samples by the difference of their densities.",
    epilog="\b\nExamples:\n  densdiff compare january.csv february.csv --report page.html\n"
    "  densdiff compare --help\n\n"
    "Tables are files (CSV, Parquet, JSON Lines, .npy; - is standard input), addresses (https://, s3://) or in "
    "databases (sqlite:///shop.db?table=orders, postgresql://). Each command has examples in its help. Exit "
    "status: 0 for success, 1 if something was found and --fail-on-difference was given, 2 for a failure, 130 for an "
    "interrupt.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    invoke_without_command=True,
)

Columns = Annotated[str | None, typer.Option(metavar="A,B,C", help="Use only these columns.")]
Names = typer.Option(metavar="A,B*", help="Compare only these columns: names, or patterns such as 'price_*'.")
Exclude = typer.Option(metavar="A,B*", help="Do not compare these columns; names or patterns.")
Category = typer.Option(metavar="A,B*", help="Take these columns as categories, such as codes of digits.")
Number = typer.Option(metavar="A,B*", help="Take these columns as numbers; dates become days since 1970-01-01.")
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="Time column; not part of the data.")]
MinEffect = typer.Option(
    metavar="SHARE", help="Smallest share of rows, 0 to 1, that counts; or COLUMN=SHARE, repeatedly."
)
Missing = typer.Option(help="Missing values: level (one of their own), drop (their rows) or error.")
Sep = Annotated[str | None, typer.Option(metavar="CHAR", help="Separator of a CSV file; detected by default.")]
Decimal = Annotated[str | None, typer.Option(metavar="CHAR", help="Decimal mark of a CSV file, '.' or ','.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="CSV without column names; they become x0, x1, ..")]
Alpha = Annotated[float, typer.Option(help="Probability of a false finding.")]
Seed = Annotated[int | None, typer.Option(help="Seed for a repeatable run; drawn and printed if not given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, also of a failure.")]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report as an HTML page.")]
Markdown = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a summary of at most 30 lines as Markdown.")]
By = typer.Option(metavar="COLUMN", help="Compare group by group: rows with the same value in this column, or several.")
Prometheus = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write metrics for node_exporter's textfile collector.")
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Append one line of JSON to this file.")]
Fail = Annotated[bool, typer.Option("--fail-on-difference", help="Exit with status 1 if something was found.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")]


@app.callback()
def _main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        emit(f"densdiff {installed('densdiff')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        emit(context.get_help())


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The first table, such as the reference.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The table to compare with it.")],
    columns: Annotated[list[str] | None, Names] = None,
    exclude: Annotated[list[str] | None, Exclude] = None,
    category: Annotated[list[str] | None, Category] = None,
    number: Annotated[list[str] | None, Number] = None,
    by: Annotated[list[str] | None, By] = None,
    alpha: Alpha = 0.05,
    min_effect: Annotated[list[str] | None, MinEffect] = None,
    missing: Annotated[str, Missing] = "level",
    permutations: Annotated[int, typer.Option(help="Number of permutations of the test.")] = 999,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Compare Parquet files on this Dask cluster.")
    ] = None,
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
    report: Report = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    log: Log = None,
    fail_on_difference: Fail = False,
    debug: Debug = False,
) -> None:
    """Do two tables differ, how much, in which columns, and where?

    \b
    Examples:
      densdiff compare january.csv february.csv
      densdiff compare A.parquet B.parquet --columns age,city --report page.html
      densdiff compare A.csv B.csv --exclude 'id*' --category zip,flight --number when
      densdiff compare ref.csv today.csv --min-effect 0.05 --min-effect spend=0.02 --fail-on-difference
      densdiff compare may.csv june.csv --by region --prometheus densdiff.prom --log nightly.jsonl
      densdiff compare 'sqlite:///shop.db?table=jan' 'sqlite:///shop.db?query=select * from feb where price > 0'
      densdiff compare s3://shop/jan.csv.gz https://example.org/feb.parquet
      densdiff compare big_a/ big_b/ --scheduler tcp://10.0.0.1:8786
      densdiff compare january.profile february.csv
    """
    from functools import partial

    from densdiff.cli.outputs import Outputs

    refuse_twice(a, b)
    if scheduler is None:  # the workers of a cluster see files of their own
        refuse_missing(a, b)
    outputs = Outputs(report, markdown, prometheus, log)
    outputs.refuse_unwritable(a, b)
    from densdiff.comparing.settings import check_settings  # once the files are there

    effects = parse_effects(min_effect or [])
    check_settings(alpha, effects, permutations, seed)
    chosen, groups = parse_columns(columns, exclude, category, number), split_names(by or [])
    layout = chosen.narrow(parse_layout(None, sep, decimal, no_header), groups)
    with cluster(scheduler):
        with Progress("reading", None):
            tables = [
                layout.read_compared(path) if scheduler is None else layout.read_on_cluster(path) for path in (a, b)
            ]
        from densdiff import compare as compare_tables  # once there are tables: a wrong name is told at once
        from densdiff import compare_by

        compared = partial(compare_by, by=groups) if by is not None else compare_tables
        with name_inputs(A=a, B=b):  # which says itself how far it is
            result = compared(
                *tables,
                columns=chosen.columns,
                exclude=chosen.exclude,
                kinds=chosen.kinds,
                alpha=alpha,
                min_effect=effects,
                missing=missing,
                n_permutations=permutations,
                random_state=seed,
            )
    outputs.write(result)
    _print_result(result, "compare", as_json, report)
    if not as_json:
        outputs.emit_places()
    _exit_if_found(fail_on_difference and result.differ)


@app.command()
def profile(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, such as a month when all was well.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write; the name ends in .profile.")
    ],
    like: Annotated[
        str | None, typer.Option(metavar="FILE", help="A profile that this one is to be compared or merged with.")
    ] = None,
    columns: Annotated[list[str] | None, Names] = None,
    exclude: Annotated[list[str] | None, Exclude] = None,
    category: Annotated[list[str] | None, Category] = None,
    number: Annotated[list[str] | None, Number] = None,
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    debug: Debug = False,
) -> None:
    """Write what comparisons need of a table, without its rows.

    \b
    Examples:
      densdiff profile january.csv -o january.profile
      densdiff compare january.profile february.csv --report page.html
      densdiff profile february.csv --like january.profile -o february.profile
    """
    refuse_missing(table, *([] if like is None else [like]))
    refuse_other_ending(out)
    refuse_unwritable(out, table)
    from densdiff import Profile
    from densdiff import profile as make_profile

    chosen = parse_columns(columns, exclude, category, number)
    layout = chosen.narrow(parse_layout(None, sep, decimal, no_header), [])
    with Progress("reading", None):
        rows = layout.read(table, in_blocks=True)
    with name_inputs(table=table):
        first = None if like is None else Profile.load(like)
        found = make_profile(rows, like=first, random_state=seed, **chosen.given())
    found.save(out)
    emit(f"{found!r}; written to {out}")
    for name, why in found.left_out:
        emit(f"  left out: {show_name(name)}, {why}")


@app.command()
def track(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE", help="The table to compare with; or first, previous, or a number of batches before."
        ),
    ],
    batches: Annotated[list[str], typer.Argument(metavar="BATCH...", help="The batches, in the order of time.")],
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on from this file, if it exists; write it again.")
    ] = None,
    columns: Annotated[list[str] | None, Names] = None,
    exclude: Annotated[list[str] | None, Exclude] = None,
    category: Annotated[list[str] | None, Category] = None,
    number: Annotated[list[str] | None, Number] = None,
    alpha: Annotated[float, typer.Option(help="Probability of a false finding in any batch, ever.")] = 0.05,
    min_effect: Annotated[list[str] | None, MinEffect] = None,
    missing: Annotated[str, Missing] = "level",
    permutations: Annotated[int, typer.Option(help="Number of permutations of each test.")] = 999,
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
    report: Report = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    log: Log = None,
    fail_on_difference: Fail = False,
    debug: Debug = False,
) -> None:
    """Which batches differ from a reference, and since when?

    Batches that the history has are not read again. With --fail-on-difference only new batches count.

    \b
    Examples:
      densdiff track may.parquet days/*.parquet --report history.html
      densdiff track may.parquet days/*.parquet --history days.json --fail-on-difference
      densdiff track previous days/*.csv
      densdiff track may.profile days/*.csv --history days.json --prometheus densdiff.prom --log nightly.jsonl
    """
    from densdiff.cli.batches import BatchFiles, track_files
    from densdiff.cli.outputs import Outputs

    outputs = Outputs(report, markdown, prometheus, log)
    files = BatchFiles(reference, batches, history, parse_layout(None, sep, decimal, no_header))
    refuse_missing(*files.needed)
    outputs.refuse_unwritable(*files.inputs)
    from densdiff.comparing.settings import check_settings  # once the files are there

    effects = parse_effects(min_effect or [])
    check_settings(alpha, effects, permutations, seed)
    chosen = parse_columns(columns, exclude, category, number)
    result, is_found = track_files(
        replace(files, layout=chosen.narrow(files.layout)),
        columns=chosen.columns,
        exclude=chosen.exclude,
        kinds=chosen.kinds,
        alpha=alpha,
        min_effect=effects,
        missing=missing,
        n_permutations=permutations,
        random_state=seed,
    )
    outputs.write(result)
    _print_result(result, "track", as_json, report)
    if not as_json:
        outputs.emit_places()
    _exit_if_found(fail_on_difference and is_found)


@app.command()
def changes(
    series: Annotated[str, typer.Argument(metavar="SERIES", help="The series, one sample per row, in time order.")],
    columns: Columns = None,
    time: Time = None,
    window: Annotated[
        str, typer.Option(help="Samples on each side of a change, a duration such as 4s, or auto.")
    ] = "auto",
    lag: Annotated[int, typer.Option(help="Number of consecutive samples compared together.")] = 5,
    alpha: Alpha = 0.05,
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
    report: Report = None,
    fail_on_difference: Fail = False,
    debug: Debug = False,
) -> None:
    """When did a series change?

    \b
    Examples:
      densdiff changes sensor.csv
      densdiff changes sensor.csv --time stamp --columns x,y,z --window 4s
      densdiff changes - --json < sensor.csv
    """
    refuse_missing(series)
    refuse_unwritable(report, series)
    with Progress("reading", None):
        layout = parse_layout(columns, sep, decimal, no_header)
        table = layout.read(series, [] if time is None else [time], in_blocks=True)
    from densdiff import detect_changes  # once there is a series: a wrong column is told at once

    if time is None:
        refuse_clock(table, series)
    wide: Any = int(window) if window.strip().lstrip("+-").isdecimal() else window
    with name_inputs(series=series):
        result = detect_changes(table, time=time, window=wide, lag=lag, alpha=alpha, random_state=seed)
    _print_result(result, "changes", as_json, report, f"Changes in {file_label(series)}")
    _exit_if_found(fail_on_difference and len(result.changes) > 0)


@app.command()
def balance(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Rows whose class is known.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Rows whose class shares are estimated.")],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the classes of TRAIN; ignored in NEW.")],
    columns: Columns = None,
    time: Time = None,
    alpha: Annotated[float, typer.Option(help="Probability that an interval misses the true share.")] = 0.05,
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
    report: Report = None,
    debug: Debug = False,
) -> None:
    """What share of the rows of NEW belongs to each class?

    \b
    Examples:
      densdiff balance labelled.csv unlabelled.csv --label diagnosis
      densdiff balance train.parquet new.parquet --label y --columns age,dose --json
    """
    refuse_twice(train, new)
    refuse_missing(train, new)
    refuse_unwritable(report, train, new)
    from densdiff import messages
    from densdiff.data import parameters

    level = 1 - parameters.fraction(alpha, "alpha")
    layout = parse_layout(columns, sep, decimal, no_header)
    with Progress("reading", None):
        rows, labels, new_rows = read_classes(layout, train, new, label, time)
    from densdiff import ClassBalance  # once there are rows: a wrong column is told at once

    of_label = {"y": (f"column {messages.shown(label)} of {file_label(train)}", train)}
    with name_inputs(of_label, X=train, X_new=new):
        result = ClassBalance(random_state=seed).fit(rows, labels).estimate(new_rows, level)
    _print_result(result, "balance", as_json, report, f"Class balance of {file_label(new)}")


@app.command()
def monitor(
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help="Rows from a time when all was well.")],
    columns: Columns = None,
    window: Annotated[int | None, typer.Option(help="Memory in rows: more for smaller changes.  [default: 50]")] = None,
    run_length: Annotated[
        float | None, typer.Option(help="Average number of rows until a false alarm.  [default: 1000]")
    ] = None,
    after_alarm: Annotated[
        str | None,
        typer.Option(
            metavar="continue|reset", help="An alarm lasts, or all begins anew after it.  [default: continue]"
        ),
    ] = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", help="Save here; resume from it if it exists.")] = None,
    save_every: Annotated[
        str | None, typer.Option(metavar="10s", help="Save so often.  [default: every 1000 rows]")
    ] = None,
    heartbeat: Annotated[
        str | None, typer.Option(metavar="60s", help="Print a line of JSON so often, also while no rows come.")
    ] = None,
    time: Time = None,
    bad_rows: Annotated[str, typer.Option(metavar="stop|skip", help="At a bad row, stop or count it.")] = "stop",
    seed: Seed = None,
    sep: Sep = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    fail_on_difference: Fail = False,
    debug: Debug = False,
) -> None:
    """Is a stream changing now?

    Rows are read from standard input, as CSV or JSON Lines with the columns of REFERENCE. A line of JSON is printed
    whenever the score rises above its threshold, and when a category has a level that it never had. SIGTERM and
    SIGHUP save the state and end with status 0.

    \b
    Examples:
      tail -f sensor.csv | densdiff monitor normal.csv
      densdiff monitor normal.csv --window 20 --state night.state --fail-on-difference < today.jsonl
      tail -F log.csv | densdiff monitor normal.csv --time stamp --state log.state --save-every 10s --heartbeat 60s
    """
    if state is None or not state.exists():
        refuse_missing(reference)
    from densdiff.cli.service import parse_watch_options, run_service  # once there is a reference

    refuse_unwritable(state, reference)
    options = parse_watch_options(time, save_every, heartbeat, bad_rows, state)
    layout = parse_layout(columns, sep, decimal, no_header)
    found = run_service(
        reference,
        layout,
        state,
        options,
        window=window,
        run_length=run_length,
        after_alarm=after_alarm,
        seed=seed,
    )
    _exit_if_found(fail_on_difference and found)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the tables and of the comparison.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path(),
    debug: Debug = False,
) -> None:
    """Compare two built-in tables and write demo-report.html.

    \b
    Examples:
      densdiff demo
      densdiff demo --seed 1 --out reports
    """
    from densdiff import compare as compared
    from densdiff.datasets import mixed_tables

    refuse_file(out)
    out.mkdir(parents=True, exist_ok=True)
    page = out / "demo-report.html"
    refuse_unwritable(page)
    tables = mixed_tables(2000, shift=0.3, share=0.15, correlation=0.5, random_state=seed)
    # income, balance, plan and mobile depend on age: with more old customers they move too, a little, unplanted
    columns = [name for name in tables.a if name not in ("income", "balance", "plan", "mobile")]
    result = compared(tables.a, tables.b, columns=columns, random_state=seed)
    _print_result(result, "demo", False, page)
    first, second = tables.pair
    emit(
        f"planted in B: {tables.shifted} higher by {tables.shift:g} standard deviations; {tables.region}: "
        f"{100 * tables.share_a:g} % -> {100 * tables.share_b:g} %; {first} and {second}: "
        f"correlation 0 -> {tables.correlation:g}"
    )


def _print_result(result: Any, command: str, as_json: bool, report: Path | None, title: str | None = None) -> None:
    """Write the report first, then print the answer in the form that its reader can use."""
    if report is not None:
        with Progress("writing the report", None):
            result.to_html(report, title=title)
    if as_json:
        emit(json.dumps({"schema": SCHEMA, "command": command} | result.to_dict()))
        return
    if sys.stdout.isatty():
        _on_terminal(result, command)
    else:
        emit(str(result))
    if report is not None:
        emit(f"report: {report}")


def _on_terminal(result: Any, command: str) -> None:
    from densdiff.cli import show

    views: dict[str, Callable[[Any], None]] = {
        "changes": show.changes,
        "balance": show.balance,
        "track": show.batches,
    }
    view = show.groups if hasattr(result, "groups") else views.get(command, show.comparison)
    view(result)


def _exit_if_found(is_found: bool) -> None:
    """End with status 1 if something was found that the user asked to fail on."""
    if is_found:
        raise typer.Exit(1)

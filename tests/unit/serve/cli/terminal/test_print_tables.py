"""Tables fit a terminal, and are whole in a pipe."""

import pytest

from gristmill.serve.cli.terminal.print_tables import Cell, Column, fit_table

COLUMNS = (
    Column(title="id", kind="id"), Column(title="standing", kind="fixed"), Column(title="session", kind="id", leave=2),
    Column(title="caller", leave=3), Column(title="calls", kind="number"), "what it does",
)  # fmt: skip
ROWS: list[list[Cell]] = [
    [
        "ap_0f8c21d9e7b64a10",
        ("pending", "red"),
        "4daa4f35-5d99-446c",
        "ann",
        "12",
        "crm.delete, crm.create_customer_with_a_long_name",
    ],
    ["ap_1", "approved", "", "bob", "1,000", "two\nlines \x1b[31mred"],
]


def text(width: int | None) -> str:
    fitted = fit_table(COLUMNS, ROWS, width)
    return "\n".join(line.plain for line in fitted.lines) + f"\n[{', '.join(fitted.left_out)}]"


def test_in_a_pipe_every_row_is_a_line_and_nothing_is_cut() -> None:
    assert text(None) == (
        "id                   standing  session             caller  calls  what it does\n"
        "ap_0f8c21d9e7b64a10  pending   4daa4f35-5d99-446c  ann        12  crm.delete, crm.create_customer_with_a_long_name\n"
        "ap_1                 approved                      bob     1,000  two lines \\x1b[31mred\n"
        "[]"
    )


def test_at_140_columns_all_of_it_fits() -> None:
    assert text(140) == text(None)


def test_at_80_columns_texts_are_wrapped_and_ids_cut_at_their_end() -> None:
    assert text(80) == (
        "id                 standing  session            caller  calls  what it does\n"
        "ap_0f8c21d9e7b64…  pending   4daa4f35-5d99-44…  ann        12  crm.delete,\n"
        "                                                               crm.create_\n"
        "                                                               customer_with_a_\n"
        "                                                               long_name\n"
        "ap_1               approved                     bob     1,000  two lines\n"
        "                                                               \\x1b[31mred\n"
        "[]"
    )


def test_on_a_narrow_terminal_columns_that_matter_least_are_left_out() -> None:
    assert text(50) == (
        "id               standing  calls  what it does\n"
        "ap_0f8c21d9e7b…  pending      12  crm.delete,\n"
        "                                  crm.create_\n"
        "                                  customer_with_a_\n"
        "                                  long_name\n"
        "ap_1             approved  1,000  two lines\n"
        "                                  \\x1b[31mred\n"
        "[session, caller]"
    )


@pytest.mark.parametrize("width", range(44, 150, 7))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide: list[list[Cell]] = [["日本語の長い名前です" * 3, "x", "", "ü" * 30, "5", "語" * 90]]
    for rows in (ROWS, wide, [*ROWS, *wide]):
        assert max(line.cell_len for line in fit_table(COLUMNS, rows, width).lines) <= width


def test_a_table_that_cannot_fit_is_printed_all_the_same() -> None:
    assert len(fit_table(COLUMNS, ROWS, 5).lines) > 3

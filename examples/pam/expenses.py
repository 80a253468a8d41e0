"""Money: what was spent, what may be spent."""

from examples.pam.rows import Done, Expense, Limit, Total
from examples.records import Records
from examples.serving import destroys, reads, writes


class Expenses:
    """Tools about expenses and budgets."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def get_expenses(
        self, user_id: int, start_date: str = "", end_date: str = "9999", category: str | None = None, limit: int = 1000
    ) -> list[Expense]:
        """Expenses of a user between two days (inclusive), optionally of one category, oldest first."""
        return self._records.rows(
            Expense,
            """SELECT id, trip_id, date, category, amount, merchant, card, note FROM expenses
               WHERE user_id = :user AND date BETWEEN :start AND :end
               AND (CAST(:category AS TEXT) IS NULL OR category = :category) ORDER BY date, id LIMIT :limit""",
            user=user_id, start=start_date, end=end_date, category=category, limit=limit,
        )  # fmt: skip

    @reads
    def get_expense(self, user_id: int, expense_id: int) -> Expense:
        """One expense of a user."""
        return self._records.one(
            Expense,
            "SELECT id, trip_id, date, category, amount, merchant, card, note FROM expenses WHERE user_id = :user AND id = :id",
            user=user_id, id=expense_id,
        )  # fmt: skip

    @reads
    def search_expenses(self, user_id: int, text: str, limit: int = 100) -> list[Expense]:
        """Expenses of a user whose merchant or note contains a text, newest first."""
        return self._records.rows(
            Expense,
            """SELECT id, trip_id, date, category, amount, merchant, card, note FROM expenses
               WHERE user_id = :user AND (instr(lower(merchant), lower(:text)) > 0 OR instr(lower(note), lower(:text)) > 0)
               ORDER BY date DESC, id LIMIT :limit""",
            user=user_id, text=text, limit=limit,
        )  # fmt: skip

    @reads
    def sum_expenses_by_category(self, user_id: int, start_date: str = "", end_date: str = "9999") -> list[Total]:
        """Total and number of a user's expenses per category between two days, largest first."""
        return self._records.rows(
            Total,
            """SELECT category, round(sum(amount), 2) AS total, count(*) AS count FROM expenses
               WHERE user_id = :user AND date BETWEEN :start AND :end GROUP BY category ORDER BY total DESC""",
            user=user_id, start=start_date, end=end_date,
        )  # fmt: skip

    @reads
    def find_duplicate_expenses(self, user_id: int) -> list[Expense]:
        """Expenses of a user that look charged twice: same day, merchant, amount and note as an earlier one."""
        return self._records.rows(
            Expense,
            """SELECT id, trip_id, date, category, amount, merchant, card, note FROM expenses e
               WHERE user_id = :user AND EXISTS (SELECT 1 FROM expenses f WHERE f.user_id = e.user_id AND f.id < e.id
                 AND (f.date, f.merchant, f.amount, f.note) = (e.date, e.merchant, e.amount, e.note)) ORDER BY id""",
            user=user_id,
        )  # fmt: skip

    @reads
    def get_budgets(self, user_id: int) -> list[Limit]:
        """Monthly budget of a user per category."""
        return self._records.rows(
            Limit, "SELECT category, monthly FROM budgets WHERE user_id = :user ORDER BY category", user=user_id
        )

    @writes
    def set_budget(self, user_id: int, category: str, monthly: float) -> Done:
        """Set the monthly budget of a user for one category."""
        self._records.change(
            """INSERT INTO budgets VALUES (:user, :category, :monthly)
               ON CONFLICT (user_id, category) DO UPDATE SET monthly = :monthly""",
            user=user_id, category=category, monthly=monthly,
        )  # fmt: skip
        return {"id": user_id, "message": f"{category}: {monthly} per month"}

    @writes
    def add_expense(
        self, user_id: int, date: str, category: str, amount: float, merchant: str, trip_id: int | None = None
    ) -> Done:
        """Record an expense of a user."""
        new = self._records.add(
            """INSERT INTO expenses (user_id, trip_id, date, category, amount, merchant, card, note)
               SELECT id, CAST(:trip AS INTEGER), :date, :category, :amount, :merchant, card, '' FROM users WHERE id = :user""",
            user=user_id, trip=trip_id, date=date, category=category, amount=amount, merchant=merchant,
        )  # fmt: skip
        return {"id": new, "message": "recorded"}

    @writes
    def update_expense(self, user_id: int, expense_id: int, category: str | None = None, amount: float | None = None) -> Done:
        """Change category or amount of an expense of a user."""
        self._records.change(
            """UPDATE expenses SET category = coalesce(:category, category), amount = coalesce(CAST(:amount AS REAL), amount)
               WHERE user_id = :user AND id = :id""",
            user=user_id, id=expense_id, category=category, amount=amount,
        )  # fmt: skip
        return {"id": expense_id, "message": "changed"}

    @destroys
    def delete_expense(self, user_id: int, expense_id: int) -> Done:
        """Delete an expense of a user."""
        self._records.change("DELETE FROM expenses WHERE user_id = :user AND id = :id", user=user_id, id=expense_id)
        return {"id": expense_id, "message": "deleted"}

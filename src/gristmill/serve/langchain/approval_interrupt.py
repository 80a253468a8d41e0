"""Asks a person about a plan by an interrupt of LangGraph, and reads the answer with which the graph is resumed."""

from langgraph.types import interrupt

from gristmill.chat.plan_answers import PlanAnswer, describe_question, read_plan_answer
from gristmill.model import Plan


def ask_about_plan(plan: Plan) -> PlanAnswer:
    """Interrupts the graph with the plan; after it was resumed, returns the answer. Only a clear yes approves anything."""
    return read_plan_answer(plan, interrupt(describe_question(plan)))

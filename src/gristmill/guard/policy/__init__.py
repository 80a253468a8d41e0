"""Decides which tool calls may be sent: rules, conditions, flow rules and approvals."""

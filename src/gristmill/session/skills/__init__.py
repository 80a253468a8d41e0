"""Skills: functions that code saves for later executions."""

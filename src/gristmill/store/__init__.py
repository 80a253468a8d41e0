"""Where rooms keep what must outlive the process: one database, rows and transactions, nothing about their meaning."""

"""One database for what must outlive the process. It offers rows and transactions; the rooms give them their meaning."""

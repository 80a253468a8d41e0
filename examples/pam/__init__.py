"""PAM: a personal assistant for people who travel in motorhomes. One server, 47 tools, every row owned by somebody."""

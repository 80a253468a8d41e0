import re
text = "Contact ann@example.com or bob@test.org; call +49 30 1234567."
{"mails": re.findall(r"[\w.]+@[\w.]+\.\w+", text), "phone": re.search(r"\+[\d ]+", text).group().strip()}
# expect: {"mails": ["ann@example.com", "bob@test.org"], "phone": "+49 30 1234567"}

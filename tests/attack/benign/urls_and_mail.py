from urllib.parse import urlparse, parse_qs, urlencode, quote, urljoin
from email.message import EmailMessage
from http import HTTPStatus
import ipaddress, mimetypes
url = urlparse("https://user@example.com:8443/a/b?x=1&x=2&y=z#f")
mail = EmailMessage(); mail["Subject"] = "hi"; mail.set_content("text")
[url.hostname, url.port, parse_qs(url.query), urlencode({"q": "a b"}), urljoin("http://a/b/c", "../d"), mail["Subject"], HTTPStatus(404).phrase,
 ipaddress.ip_address("10.0.0.1").is_private, mimetypes.guess_type("a.pdf")[0]]
# expect: ["example.com", 8443, {"x": ["1", "2"], "y": ["z"]}, "q=a+b", "http://a/d", "hi", "Not Found", true, "application/pdf"]

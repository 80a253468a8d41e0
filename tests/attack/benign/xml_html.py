import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from html import escape, unescape
root = ET.fromstring("<list><item id='1'>a</item><item id='2'>b</item></list>")
class Links(HTMLParser):
    def __init__(self): super().__init__(); self.found = []
    def handle_starttag(self, tag, attrs): self.found += [v for k, v in attrs if tag == "a" and k == "href"]
links = Links(); links.feed("<p><a href='/x'>x</a> <a href='/y'>y</a></p>")
[{i.get("id"): i.text for i in root}, links.found, escape("<&>"), unescape("&eacute;")]
# expect: [{"1": "a", "2": "b"}, ["/x", "/y"], "&lt;&amp;&gt;", "\u00e9"]

"""What is known about modules that programs import: the package that provides them, and what the standard library has instead."""

PACKAGE_OF_MODULE = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "pylab": "matplotlib",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Packages whose name is not that of their module."""

SUBSTITUTES = {
    "arrow": "datetime and zoneinfo do it",
    "attr": "dataclasses do it",
    "bs4": "html.parser reads HTML",
    "dateutil": "datetime.fromisoformat and zoneinfo do it",
    "dotenv": "there are no settings to load in the sandbox, leave it out",
    "httpie": "there is no network, call a tool",
    "matplotlib": "return the numbers and let the client draw them",
    "mpl_toolkits": "return the numbers and let the client draw them",
    "nest_asyncio": "write `await` at the top level, nothing has to be patched",
    "numpy": "statistics, math and lists do it",
    "openpyxl": "csv writes tables that a spreadsheet opens",
    "orjson": "json does it",
    "pandas": "lists of dictionaries, csv, statistics and collections.Counter do it",
    "pendulum": "datetime and zoneinfo do it",
    "plotly": "return the numbers and let the client draw them",
    "polars": "lists of dictionaries, csv and statistics do it",
    "pydantic": "dataclasses do it",
    "pytz": "zoneinfo does it",
    "rich": "print() does it",
    "scipy": "statistics and math do it",
    "seaborn": "return the numbers and let the client draw them",
    "simplejson": "json does it",
    "sqlalchemy": "sqlite3 does it for files in the working directory",
    "tabulate": "print() with f-strings does it",
    "tenacity": "a loop with try and except does it",
    "tqdm": "leave it out, nobody sees a progress bar",
    "ujson": "json does it",
    "yaml": "json does it for data of your own",
}
"""What does the job without the package."""


def name_package(module: str) -> str:
    """Returns the package that is installed to import ``module``."""
    return PACKAGE_OF_MODULE.get(module, module)

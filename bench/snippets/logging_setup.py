# what: logging configured to stdout
# expect: ["INFO report: read 12 rows", "WARNING report: skipped one"]
import io
import logging

stream = io.StringIO()
handler = logging.StreamHandler(stream)
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
logger = logging.getLogger("report")
logger.setLevel(logging.INFO)
logger.addHandler(handler)
logger.debug("not shown")
logger.info("read %d rows", 12)
try:
    1 / 0
except ZeroDivisionError:
    logger.warning("skipped one", exc_info=False)
stream.getvalue().splitlines()

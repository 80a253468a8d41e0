import logging
logging.basicConfig(filename="run.log", level=logging.INFO, format="%(levelname)s %(message)s", force=True)
logging.info("started")
try:
    1 / 0
except ZeroDivisionError:
    logging.exception("failed")
logging.shutdown()
[line.strip() for line in open("run.log")][:2]
# expect: ["INFO started", "ERROR failed"]

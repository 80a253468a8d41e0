# what: subprocess.run of another Python
# expect: [0, "45"]
import subprocess
import sys

done = subprocess.run([sys.executable, "-c", "print(sum(range(10)))"], capture_output=True, text=True, timeout=20, check=True)
[done.returncode, done.stdout.strip()]

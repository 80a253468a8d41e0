import subprocess, sys
done = subprocess.run([sys.executable, "-c", "import sys; print(sum(map(int, sys.stdin)))"], input="1\n2\n3\n", capture_output=True, text=True, check=True)
done.stdout.strip()
# expect: "6"

import subprocess, sys
one = subprocess.Popen([sys.executable, "-c", "[print(n) for n in range(10)]"], stdout=subprocess.PIPE)
two = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.readlines()))"], stdin=one.stdout, capture_output=True, text=True)
one.wait()
[two.stdout.strip(), one.returncode]
# expect: ["10", 0]

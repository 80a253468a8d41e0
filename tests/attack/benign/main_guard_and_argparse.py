import argparse, sys
def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=3)
    args = parser.parse_args(argv)
    print("n is", args.n)
    return args.n * 2
if __name__ == "__main__":
    result = main(["--n", "4"])
result
# expect: 8

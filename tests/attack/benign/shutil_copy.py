import shutil, os
os.makedirs("a/b")
open("a/b/f.txt", "w").write("1")
shutil.copytree("a", "c")
shutil.move("c/b/f.txt", "c/g.txt")
shutil.make_archive("out", "zip", "c")
shutil.rmtree("a")
[sorted(os.listdir(".")), sorted(os.listdir("c"))]
# expect: [["c", "out.zip"], ["b", "g.txt"]]

import pickle, copy, shelve, marshal, struct, array
data = {"a": [1, {2, 3}], "b": (4, None)}
same = pickle.loads(pickle.dumps(data)) == data
deep = copy.deepcopy(data); deep["a"].append(9)
with shelve.open("store") as store:
    store["k"] = data
with shelve.open("store") as store:
    kept = store["k"] == data
[same, len(data["a"]), kept, struct.unpack("<IH", struct.pack("<IH", 7, 8)), array.array("i", [1, 2]).tolist()]
# expect: [true, 2, true, [7, 8], [1, 2]]

"""Builds the sentence model all-MiniLM-L6-v2 as an ONNX graph with eight-bit weights, from the weights that a package ships.

The graph is made in memory in about a second, so that nothing has to be downloaded, converted by hand or kept.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# By name: the package comes with an extra and may be missing, also where types are checked.
helper, numpy_helper = import_module("onnx.helper"), import_module("onnx.numpy_helper")
_FLOAT, _INT64 = 1, 7  # the numbers of these types in ONNX

LAYERS, HEADS, WIDTH = 6, 12, 384
_OPSET, _IR = 20, 9
_EPSILON = 1e-12

Floats = NDArray[np.float32]


def read_weights(path: Path) -> dict[str, Floats]:
    """Returns the arrays of a safetensors file: eight bytes of length, a JSON header, then the numbers.

    Raises:
        ValueError: the file is not of that kind, or its numbers are not 32-bit floats.
    """
    whole = memoryview(path.read_bytes())
    start = 8 + int.from_bytes(whole[:8], "little")
    header: dict[str, Any] = json.loads(bytes(whole[8:start]))
    found: dict[str, Floats] = {}
    for name, row in header.items():
        if name == "__metadata__" or row["dtype"] != "F32":
            continue
        first, last = row["data_offsets"]
        found[name] = np.frombuffer(whole[start + first : start + last], np.float32).reshape(row["shape"])
    return found


def build_graph(weights: Mapping[str, Floats]) -> bytes:
    """Returns the serialized model: ``ids`` and ``mask`` go in, one unit vector per text comes out."""
    return _GraphWriter(weights).write()


class _GraphWriter:
    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def write(self) -> bytes:
        hidden, spread = self._embed(), self._hide_padding()
        for layer in range(LAYERS):
            hidden = self._attend(hidden, spread, f"encoder.layer.{layer}.attention")
            hidden = self._feed_forward(hidden, f"encoder.layer.{layer}")
        self._pool(hidden)
        graph = helper.make_graph(
            self._nodes,
            "minilm",
            [
                helper.make_tensor_value_info("ids", _INT64, ["texts", "tokens"]),
                helper.make_tensor_value_info("mask", _FLOAT, ["texts", "tokens"]),
            ],
            [helper.make_tensor_value_info("vectors", _FLOAT, ["texts", WIDTH])],
            self._tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        return model.SerializeToString()

    def _add(self, kind: str, *inputs: str, name: str | None = None, **options: Any) -> str:
        output = name or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **options))
        return output

    def _keep(self, value: Any) -> str:
        name = f"t{len(self._tensors)}"
        self._tensors.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _embed(self) -> str:
        rows, scale = _quantize(self._weights["embeddings.word_embeddings.weight"], axis=1)
        values = self._add("Cast", self._add("Gather", self._keep(rows), "ids"), to=_FLOAT)
        words = self._add("Mul", values, self._add("Gather", self._keep(scale), "ids"))
        length = self._add("Slice", self._add("Shape", "ids"), self._keep(np.array([1])), self._keep(np.array([2])))
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._keep(self._weights["embeddings.position_embeddings.weight"] + kind)
        used = self._add("Slice", places, self._keep(np.array([0])), length, self._keep(np.array([0])))
        return self._normalize(self._add("Add", words, used), "embeddings.LayerNorm")

    def _hide_padding(self) -> str:
        """Returns what is added to attention: nothing for words, a large negative number for padding."""
        wide = self._add("Unsqueeze", "mask", self._keep(np.array([1, 2])))
        missing = self._add("Sub", wide, self._keep(np.float32(1)))
        return self._add("Mul", missing, self._keep(np.float32(1e4)))

    def _attend(self, hidden: str, spread: str, name: str) -> str:
        shape = self._keep(np.array([0, 0, HEADS, WIDTH // HEADS]))
        query, key, value = (
            self._add("Reshape", self._multiply(hidden, f"{name}.self.{part}"), shape) for part in ("query", "key", "value")
        )
        query, value = (self._add("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, value))
        scores = self._add("MatMul", query, self._add("Transpose", key, perm=[0, 2, 3, 1]))
        scaled = self._add("Mul", scores, self._keep(np.float32((WIDTH // HEADS) ** -0.5)))
        weighed = self._add("Softmax", self._add("Add", scaled, spread), axis=-1)
        mixed = self._add("Transpose", self._add("MatMul", weighed, value), perm=[0, 2, 1, 3])
        joined = self._add("Reshape", mixed, self._keep(np.array([0, 0, WIDTH])))
        return self._normalize(
            self._add("Add", self._multiply(joined, f"{name}.output.dense"), hidden), f"{name}.output.LayerNorm"
        )

    def _feed_forward(self, hidden: str, name: str) -> str:
        wide = self._add("Gelu", self._multiply(hidden, f"{name}.intermediate.dense"))
        return self._normalize(self._add("Add", self._multiply(wide, f"{name}.output.dense"), hidden), f"{name}.output.LayerNorm")

    def _pool(self, hidden: str) -> None:
        """Adds the mean over the words of a text, scaled to length one."""
        mask = self._add("Unsqueeze", "mask", self._keep(np.array([2])))
        total = self._add("ReduceSum", self._add("Mul", hidden, mask), self._keep(np.array([1])), keepdims=0)
        self._add("LpNormalization", total, name="vectors", axis=-1, p=2)

    def _multiply(self, hidden: str, name: str) -> str:
        """Adds a product with an eight-bit matrix, one scale per column; the input is rounded as it comes."""
        weight, scale = _quantize(self._weights[f"{name}.weight"], axis=1)
        output = [f"n{len(self._nodes)}{part}" for part in ("v", "s", "z")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [hidden], output))
        product = self._add("MatMulInteger", output[0], self._keep(weight.T), output[2])
        real = self._add("Cast", product, to=_FLOAT)
        scaled = self._add("Mul", real, self._add("Mul", self._keep(scale[:, 0]), output[1]))
        return self._add("Add", scaled, self._keep(self._weights[f"{name}.bias"]))

    def _normalize(self, hidden: str, name: str) -> str:
        weight, bias = self._keep(self._weights[f"{name}.weight"]), self._keep(self._weights[f"{name}.bias"])
        return self._add("LayerNormalization", hidden, weight, bias, axis=-1, epsilon=_EPSILON)


def _quantize(matrix: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    scale = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True), 1e-9) / 127
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)

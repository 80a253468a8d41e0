# what: hashlib, uuid, base64, secrets of known length
# expect: ["c92d159f2f02", "aad03681-8b63-5304-89e0-8ca8f49461b5", 32, "bcO8aGxl"]
import base64
import hashlib
import uuid

digest = hashlib.sha256(b"gristmill").hexdigest()
stable = uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")
token = uuid.uuid4().hex
encoded = base64.b64encode("mühle".encode()).decode()
[digest[:12], str(stable), len(token), encoded]

import hashlib, base64, hmac, secrets, uuid, zlib, binascii
digest = hashlib.sha256(b"gristmill").hexdigest()
[digest[:12], base64.b64encode(b"hi").decode(), hmac.new(b"k", b"m", "sha256").hexdigest()[:8], zlib.crc32(b"x"), len(secrets.token_hex(8)),
 str(uuid.uuid5(uuid.NAMESPACE_DNS, "a"))[:8], hashlib.blake2b(b"x", digest_size=4).hexdigest()]
# expect: ["c92d159f2f02", "aGk=", "b60090e3", 2363233923, 16, "4f3f2898", "b1ba07e5"]

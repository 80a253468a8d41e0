import asyncio
queue = asyncio.Queue()
for n in range(3):
    await queue.put(n)
async with asyncio.timeout(5):
    items = [await queue.get() for _ in range(3)]
items
# expect: [0, 1, 2]

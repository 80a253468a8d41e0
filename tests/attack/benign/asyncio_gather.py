import asyncio
async def work(n):
    await asyncio.sleep(0.01)
    return n * n
async def main():
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(n)) for n in range(5)]
    return [t.result() for t in tasks] + await asyncio.gather(work(5), work(6))
asyncio.run(main())
# expect: [0, 1, 4, 9, 16, 25, 36]

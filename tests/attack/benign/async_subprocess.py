import asyncio, sys
async def main():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6 * 7)", stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return out.decode().strip(), process.returncode
asyncio.run(main())
# expect: ["42", 0]

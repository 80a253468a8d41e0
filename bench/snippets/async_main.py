# what: async def main, asyncio.run under a name guard
# expect: ["FR", "IT"]
import asyncio
from servers import crm


async def fetch(number):
    customer = await crm.get_customer(id=number)
    await asyncio.sleep(0)
    return customer["country"]


async def main():
    countries = await asyncio.gather(fetch(1), fetch(2), fetch(5))
    return sorted(set(countries))


result = None
if __name__ == "__main__":
    result = asyncio.run(main())
result

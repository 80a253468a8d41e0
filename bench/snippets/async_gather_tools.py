# what: three tools at once with asyncio.gather
# expect: ["Customer 1", "Customer 2", "Customer 3"]
import asyncio
from servers import crm

customers = await asyncio.gather(*[crm.get_customer(id=n) for n in (1, 2, 3)])
[customer["name"] for customer in customers]

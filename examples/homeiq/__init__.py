"""HomeIQ: a home of sixty devices, a year of their events, and three servers: data, automation, device intelligence."""

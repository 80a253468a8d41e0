-- Every table with a user_id belongs to that user.
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, phone TEXT, card TEXT, home_state TEXT);
CREATE TABLE vehicles (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, kind TEXT, length_ft INTEGER, tank_gallons REAL);
CREATE TABLE trips (id INTEGER PRIMARY KEY, user_id INTEGER, name TEXT, start_date TEXT, end_date TEXT, status TEXT, budget REAL);
CREATE TABLE stops (id INTEGER PRIMARY KEY, user_id INTEGER, trip_id INTEGER, park_id INTEGER, arrive TEXT, nights INTEGER, cost REAL);
CREATE TABLE parks (id INTEGER PRIMARY KEY, name TEXT, state TEXT, lat REAL, lon REAL, rate REAL, sites INTEGER, hookups TEXT,
                    pets INTEGER, wifi INTEGER, rating REAL);
CREATE TABLE reviews (id INTEGER PRIMARY KEY, park_id INTEGER, user_id INTEGER, stars INTEGER, text TEXT, date TEXT);
CREATE TABLE favorites (user_id INTEGER, park_id INTEGER, PRIMARY KEY (user_id, park_id));
CREATE TABLE bookings (id INTEGER PRIMARY KEY, user_id INTEGER, park_id INTEGER, arrive TEXT, nights INTEGER, status TEXT, polls INTEGER);
CREATE TABLE expenses (id INTEGER PRIMARY KEY, user_id INTEGER, trip_id INTEGER, date TEXT, category TEXT, amount REAL, merchant TEXT,
                       card TEXT, note TEXT);
CREATE TABLE budgets (user_id INTEGER, category TEXT, monthly REAL, PRIMARY KEY (user_id, category));
CREATE TABLE fuel (id INTEGER PRIMARY KEY, user_id INTEGER, vehicle_id INTEGER, date TEXT, station_id INTEGER, gallons REAL, price REAL,
                   odometer INTEGER);
CREATE TABLE stations (id INTEGER PRIMARY KEY, name TEXT, state TEXT, lat REAL, lon REAL, diesel REAL, regular REAL, rv_lanes INTEGER);
CREATE TABLE events (id INTEGER PRIMARY KEY, user_id INTEGER, title TEXT, start_date TEXT, end_date TEXT, place TEXT, with_email TEXT);
CREATE INDEX expenses_of ON expenses (user_id, date);
CREATE INDEX fuel_of ON fuel (user_id, date);

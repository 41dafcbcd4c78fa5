// Package fakeprovider is a small payment provider over real HTTP, for demos and
// tests: it charges accounts, deduplicates by Idempotency-Key, can be asked by
// key, and misbehaves as it is told. What it charged can be counted.
//
//	POST   /charges        {"account": "a", "amount": 500, "currency": "EUR"} with Idempotency-Key
//	GET    /charges?key=k  what became of a key: a [Report]
//	GET    /charges        every charge
//	GET    /control        [Switches]
//	POST   /control        changes the switches that are named
//
// A charge answers 201 with a [Charge]; a repeat of its key within Window gets the
// same answer with Idempotent-Replayed: true. An account whose name begins with
// "declined" is refused with 402, which is stored, too. A key in use is 409, one
// with another payload 422. Nothing survives the process.
package fakeprovider

package main

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"modernc.org/sqlite"
)

// contender is a driver and its way to what database/sql does not offer.
// raw is what sql.Conn.Raw hands out.
type contender struct {
	name, registered string
	authorize        func(raw any, denied func(action int32) bool) error
	deferredFKs      func(raw any) (bool, error)
	autocommit       func(raw any) (value, known bool)
}

var drivers = [2]contender{
	{
		name: "ncruces", registered: "sqlite3",
		authorize: func(raw any, denied func(int32) bool) error {
			return raw.(driver.Conn).Raw().SetAuthorizer(
				func(action sqlite3.AuthorizerActionCode, _, _, _, _ string) sqlite3.AuthorizerReturnCode {
					if denied(int32(action)) {
						return sqlite3.AUTH_DENY
					}
					return sqlite3.AUTH_OK
				})
		},
		deferredFKs: func(raw any) (bool, error) {
			now, high, err := raw.(driver.Conn).Raw().Status(sqlite3.DBSTATUS_DEFERRED_FKS, false)
			return now+high > 0, err
		},
		autocommit: func(raw any) (bool, bool) { return raw.(driver.Conn).Raw().GetAutocommit(), true },
	},
	{
		name: "modernc", registered: "sqlite",
		authorize: func(raw any, denied func(int32) bool) error {
			return raw.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(
				func(action sqlite.AuthorizerActionCode, _, _, _, _ string) sqlite.AuthorizerReturnCode {
					if denied(int32(action)) {
						return sqlite.AuthorizerDeny
					}
					return sqlite.AuthorizerOK
				})
		},
		deferredFKs: func(raw any) (bool, error) {
			now, high, err := raw.(sqlite.DBStatus).Status(sqlite.DBStatusDeferredFKs, false)
			return now+high > 0, err
		},
		autocommit: func(any) (bool, bool) { return false, false },
	},
}

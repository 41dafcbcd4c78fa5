package engine

import (
	"errors"
	"net"

	mysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// Helps is what helps against a server's error, "" where that cannot be told.
func Helps(err error) string {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	var network *net.OpError
	switch {
	case errors.As(err, &pg):
		return postgresHelps[pg.Code]
	case errors.As(err, &my):
		return mysqlHelps[my.Number]
	case errors.As(err, &network), errors.Is(err, errNoAnswer):
		return "check the host and the port, that the server runs there, and that it may be reached from here"
	}
	return ""
}

const (
	whoHelps      = "check the user and the password of the URL, and that the server lets this user in from here"
	missingHelps  = "check the name, or make it: refrain makes no database on a server"
	grantHelps    = "the user lacks a privilege: docs/cli.md lists what the commands need"
	fullHelps     = "the server has no connection left: close some, or raise its limit"
	readOnlyHelps = "name the primary: this server does not write"
	busyHelps     = "others hold what it needs: run it again when less is under way"
	startingHelps = "the server is starting or stopping: run it again"
)

// By SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html).
var postgresHelps = map[string]string{
	"28P01": whoHelps + "; PGPASSWORD and the password file are read, too",
	"28000": whoHelps,
	"3D000": missingHelps,
	"3F000": "no schema of the search path is there: make one, or add search_path=NAME to the URL",
	"42501": grantHelps,
	"53300": fullHelps,
	"25006": readOnlyHelps,
	"55P03": busyHelps,
	"57P01": startingHelps, "57P02": startingHelps, "57P03": startingHelps,
}

// By error number (https://mariadb.com/kb/en/mariadb-error-codes/).
var mysqlHelps = map[uint16]string{
	1045: whoHelps, 1698: whoHelps, 1130: whoHelps,
	1049: missingHelps,
	1044: grantHelps, 1142: grantHelps, 1143: grantHelps, 1227: grantHelps,
	1040: fullHelps, 1203: fullHelps,
	1290: readOnlyHelps, 1836: readOnlyHelps,
	1205: busyHelps,
	1053: startingHelps,
}

// cause is the part of a driver's error that says what is wrong: around it
// stands, in several lines, what the driver tried.
func cause(err error) error {
	var pg *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &pg):
		return pg
	case errors.As(err, &network):
		return network
	}
	return err
}

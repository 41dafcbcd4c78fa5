package engine

import (
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
)

const secret = "s3cr3t"

// TestPasswordsStayUnsaid: neither the name of a place nor what is wrong with it
// tells a password.
func TestPasswordsStayUnsaid(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{
		"postgres://shop:s3cr3t@db:5432/shop?sslmode=disable":                 "postgres://shop@db:5432/shop?sslmode=disable",
		"postgresql://shop@db/shop?password=s3cr3t":                           "postgresql://shop@db/shop",
		"postgres://shop@db/shop?sslpassword=s3cr3t&refrain_schema=ours":      "postgres://shop@db/shop?refrain_schema=ours",
		"mysql://shop:s3cr3t@db:3306/shop?tls=skip-verify":                    "mysql://shop@db:3306/shop?tls=skip-verify",
		"mariadb://shop:s3cr3t%2F%40@db/shop":                                 "mariadb://shop@db/shop",
		"mysql://shop:s3cr3t@/shop?socket=/run/mysqld/mysqld.sock":            "mysql://shop@/shop?socket=%2Frun%2Fmysqld%2Fmysqld.sock",
		"postgres://shop:s3cr3t@a:1,b:2/shop?target_session_attrs=read-write": "postgres://shop@a:1,b:2/shop?target_session_attrs=read-write",
		"postgres://shop:s3cr3t@db/shop?sslmode=maybe":                        "",
		"postgres://shop:s3cr3t@db:port/shop":                                 "",
		"postgres://shop:s3cr3t%zz@db/shop":                                   "",
		"postgres://shop:s3cr3t/@db/shop":                                     "",
		"postgres:shop:s3cr3t@db":                                             "",
		"mysql://shop:s3cr3t%zz@db/shop":                                      "",
		"mysql://shop:s3cr3t@db/shop?timeout=soon":                            "",
		"mysql://shop:s3cr3t@db/a/b":                                          "",
		"mysql://shop:s3cr3t@db/shop?loc=Nowhere/Else":                        "",
		"shop:s3cr3t@tcp(db:3306)/shop":                                       "",
		"user=shop password=s3cr3t host=db":                                   "",
		"user=shop password=s3cr3t:x":                                         "",
		"//shop:s3cr3t@db/shop":                                               "",
	} {
		at, err := Parse("--db", text)
		switch {
		case shown == "" && err == nil:
			t.Errorf("%s is %v", text, at)
		case shown == "" && strings.Contains(err.Error(), secret):
			t.Errorf("%s: %v", text, err)
		case shown != "" && (err != nil || at.String() != shown):
			t.Errorf("%s is %v, %v, want %s", text, at, err, shown)
		}
	}
}

func TestMySQLConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mysql://shop:p%40%2F%3A%3F@db/shop":                           "shop:p@/:?@tcp(db:3306)/shop",
		"mysql://shop@db:3307/shop?loc=Europe%2FBerlin":                "shop@tcp(db:3307)/shop",
		"mysql://shop@[::1]/shop":                                      "shop@tcp([::1]:3306)/shop",
		"mysql://shop@/shop?socket=/run/my.sock&max_execution_time=10": "shop@unix(/run/my.sock)/shop",
		"mysql://shop@db":                                              "shop@tcp(db:3306)/",
	} {
		at, err := Parse("--db", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		config := at.(mysqlPlace).config
		if got := config.FormatDSN(); !strings.HasPrefix(got, want+"?") || config.Timeout != connectWithin {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
		if again, err := driver.ParseDSN(config.FormatDSN()); err != nil || again.Passwd != config.Passwd || again.Addr != config.Addr {
			t.Errorf("the engine reads %+v, %v", again, err)
		}
		if strings.Contains(text, "loc=") && config.Loc.String() != "Europe/Berlin" || strings.Contains(text, "max_") && config.Params["max_execution_time"] != "10" {
			t.Errorf("%s is %+v", text, config)
		}
	}
}

func TestPostgresConfig(t *testing.T) {
	t.Parallel()
	at, err := Parse("--db", "postgres://shop:p%40%2F%3A%3F@db/shop?search_path=a&refrain_schema=it%27s")
	if err != nil {
		t.Fatal(err)
	}
	config, err := at.(postgresPlace).config()
	if err != nil || config.Password != "p@/:?" || config.User != "shop" || config.Database != "shop" || config.ConnectTimeout != connectWithin {
		t.Errorf("%+v, %v", config, err)
	}
	if config.OnNotice == nil {
		t.Error("the engine does not hear that a COMMIT was not waited for")
	}
	if p := config.RuntimeParams; p["search_path"] != "a" || p[schemaParameter] != "" || at.(postgresPlace).schema != "it's" {
		t.Errorf("%v, %v", p, at)
	}
}

// Command echo is the shop behind github.com/labstack/echo.
//
//	go run ./echo
//	curl -i localhost:8084/accounts/7/charges -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d tea
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func main() {
	s, err := shop.Open(context.Background(), "echo.db")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8084", routes(s)))
}

func routes(s *shop.Shop) http.Handler {
	pay := func(c *echo.Context) error {
		order, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		receipt, err := s.Pay(c.Request().Context(), c.Param("account"), string(order))
		switch {
		case errors.Is(err, shop.ErrDeclined):
			return echo.NewHTTPError(http.StatusPaymentRequired, err.Error())
		case err != nil:
			return err
		}
		return c.String(http.StatusCreated, receipt)
	}
	export := func(c *echo.Context) error {
		return s.Export(c.Request().Context(), c.Param("account"), func(line string) error {
			_, err := io.WriteString(c.Response(), line)
			return errors.Join(err, http.NewResponseController(c.Response()).Flush())
		})
	}

	e := echo.New()
	e.Use(middleware.Recover())
	accounts := e.Group("/accounts/:account")
	accounts.POST("/charges", pay, around(s.Wrap(shop.Charges)))
	accounts.POST("/refunds", pay, around(s.Wrap(shop.Refunds)), middleware.Recover())
	accounts.POST("/exports", export, around(s.Wrap(shop.Exports)))
	// echo.WrapHandler is enough here: there is no handler of Echo's behind it.
	accounts.POST("/orders", echo.WrapHandler(s.CreateOrder(shop.PathValue)))
	return e
}

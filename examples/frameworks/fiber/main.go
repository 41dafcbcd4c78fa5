// Command fiber is the shop behind github.com/gofiber/fiber.
//
//	go run ./fiber
//	curl -i localhost:8086/accounts/7/charges -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d tea
package main

import (
	"bufio"
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func main() {
	s, err := shop.Open(context.Background(), "fiber.db")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(routes(s).Listen("localhost:8086"))
}

func routes(s *shop.Shop) *fiber.App {
	pay := func(c fiber.Ctx) error {
		receipt, err := s.Pay(c.Context(), c.Params("account"), string(c.Body()))
		switch {
		case errors.Is(err, shop.ErrDeclined):
			return fiber.NewError(http.StatusPaymentRequired, err.Error())
		case err != nil:
			return err
		}
		return c.Status(http.StatusCreated).SendString(receipt)
	}
	export := func(c fiber.Ctx) error {
		ctx, account := c.Context(), c.Params("account")
		return c.SendStreamWriter(func(w *bufio.Writer) {
			err := s.Export(ctx, account, func(line string) error {
				_, err := w.WriteString(line)
				return errors.Join(err, w.Flush())
			})
			if err != nil {
				log.Print(err)
			}
		})
	}

	// Immutable, so that what reaches the shop may be kept. Recover is not
	// optional: without it a panic ends the process.
	app := fiber.New(fiber.Config{Immutable: true})
	app.Use(recover.New())
	accounts := app.Group("/accounts/:account")
	accounts.Post("/charges", around(s.Wrap(shop.Charges)), pay)
	accounts.Post("/refunds", around(s.Wrap(shop.Refunds)), recover.New(), pay)
	accounts.Post("/exports", around(s.Wrap(shop.Exports)), export)
	accounts.Post("/orders", handle(s.CreateOrder(shop.PathValue)))
	return app
}

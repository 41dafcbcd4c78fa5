// Command gin is the shop behind github.com/gin-gonic/gin.
//
//	go run ./gin
//	curl -i localhost:8085/accounts/7/charges -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d tea
package main

import (
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func main() {
	s, err := shop.Open(context.Background(), "gin.db")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8085", routes(s)))
}

func routes(s *shop.Shop) http.Handler {
	pay := func(c *gin.Context) {
		order, err := c.GetRawData()
		if err != nil {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		receipt, err := s.Pay(c.Request.Context(), c.Param("account"), string(order))
		switch {
		case errors.Is(err, shop.ErrDeclined):
			c.Status(http.StatusPaymentRequired)
		case err != nil:
			c.AbortWithStatusJSON(http.StatusBadGateway, gin.H{"error": err.Error()})
		default:
			c.String(http.StatusCreated, "%s", receipt)
		}
	}
	export := func(c *gin.Context) {
		err := s.Export(c.Request.Context(), c.Param("account"), func(line string) error {
			_, err := c.Writer.WriteString(line)
			c.Writer.Flush()
			return err
		})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}

	e := gin.New()
	e.Use(gin.Recovery())
	accounts := e.Group("/accounts/:account")
	accounts.POST("/charges", around(s.Wrap(shop.Charges)), pay)
	accounts.POST("/refunds", around(s.Wrap(shop.Refunds)), gin.Recovery(), pay)
	accounts.POST("/exports", around(s.Wrap(shop.Exports)), export)
	accounts.POST("/orders", handle(s.CreateOrder(shop.PathValue)))
	return e
}
